# Each target sets up what it needs: Python 3.11 or later and the package index are enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: setup browser demo test paper bench clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,bench,dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/hicorex demo --overwrite

# The tests of the report use a real browser, installed where that is possible and left out where it is not.
browser:
	@command -v chromium chromium-browser google-chrome > /dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && export DEBIAN_FRONTEND=noninteractive && \
	apt-get -qq update && apt-get -qq install --no-install-recommends chromium fonts-dejavu-core > /dev/null; } || \
	echo "There is no Chromium here, and no way to install it: the tests in a browser will be skipped."

test: $(READY) browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# SP500=... : QuantQuote's archive, or monthly returns; DATA=... : the folder of the other data sets.
DATA ?= $(wildcard ../shared/data)
SP500 ?= $(wildcard $(DATA)/sp500)
paper: $(READY)
	$(BIN)/python paper/run.py $(if $(SP500),--sp500 $(SP500)) $(if $(DATA),--data $(DATA))

bench: $(READY)
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv
