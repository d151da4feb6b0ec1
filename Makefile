# Each target sets up what it needs: Python 3.11 or later and the package index are enough.
PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/ready
ALL := .venv/ready-to-test
SITE := .venv/ready-for-docs
PIP := python -m pip install --quiet --disable-pip-version-check

.PHONY: setup lock browser demo docs test test-newest test-oldest dist paper bench clean

setup: $(ALL)

# Exact versions, with hashes: requirements/run.txt is what hicorex needs to run, requirements/test.txt what
# tests take besides, requirements/docs.txt what the site does.
$(RUN): pyproject.toml requirements/run.txt requirements/test.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/$(PIP) --requirement requirements/run.txt
	$(BIN)/$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(ALL): $(RUN)
	$(BIN)/$(PIP) --requirement requirements/test.txt
	touch $@

$(SITE): $(ALL) requirements/docs.txt
	$(BIN)/$(PIP) --requirement requirements/docs.txt
	touch $@

# The newest versions that pyproject.toml allows, for every Python and system; then these are the ones that make installs.
UV := .venv-uv/bin/uv
$(UV): Makefile
	$(PYTHON) -m venv --clear .venv-uv
	.venv-uv/bin/$(PIP) uv==0.13.8

EXTRAS := --extra test --extra bench --extra dev
LOCK := $(UV) pip compile --quiet --universal --upgrade --generate-hashes --custom-compile-command "make lock" \
	--group build pyproject.toml
lock: $(UV)
	$(LOCK) $(EXTRAS) --output-file requirements/test.txt
	$(LOCK) --constraints requirements/test.txt --output-file requirements/run.txt
	$(LOCK) --constraints requirements/test.txt --extra docs --output-file requirements/docs.txt

# A new environment, the folder $(1), of the versions that the options $(2) choose.
define UNLOCKED
	$(UV) venv --quiet --clear --python $(PYTHON) $(1)
	$(UV) pip install --quiet --python $(1) --only-binary :all: --requirement pyproject.toml --group build $(2)
	$(UV) pip install --quiet --python $(1) --no-deps --no-build-isolation --editable .
endef

demo: $(RUN)
	$(BIN)/hicorex demo --overwrite

# The site, in the folder site: every example of the gallery runs, a warning is an error, and pictures are drawn anew.
docs: $(SITE) browser
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site
	$(BIN)/python examples/pictures.py site/_images > /dev/null
	@echo "Open site/index.html"

# The tests of the report use a real browser, installed where that is possible and left out where it is not.
browser:
	@command -v chromium chromium-browser google-chrome > /dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && export DEBIAN_FRONTEND=noninteractive && \
	apt-get -qq update && apt-get -qq install --no-install-recommends chromium fonts-dejavu-core > /dev/null; } || \
	echo "There is no Chromium here, and no way to install it: the tests in a browser will be skipped."

LINT = $(1)/bin/ruff check . && $(1)/bin/ruff format --check . && $(1)/bin/mypy
PYTEST := python -m pytest --numprocesses 2 --dist worksteal

test: $(SITE) browser
	$(call LINT,.venv)
	$(BIN)/$(PYTEST)

# Both ends of what pyproject.toml allows: today's newest versions, and the lowest of all that it names.
test-newest: $(UV) browser
	$(call UNLOCKED,.venv-newest,--extra test --extra dev)
	$(call LINT,.venv-newest)
	.venv-newest/bin/$(PYTEST)

test-oldest: $(UV) browser
	$(call UNLOCKED,.venv-oldest,--extra test --resolution lowest-direct)
	.venv-oldest/bin/$(PYTEST)

# What is published, in the folder dist: built from what is here, and looked at.
dist: $(ALL)
	rm -rf dist
	$(BIN)/python -m hatchling build --target sdist --target wheel --directory dist
	$(BIN)/python -m pytest tests/test_distribution.py tests/test_publishing.py

# HICOREX_DATA=... : the folder of the real data sets (real_data.py); SP500=... : QuantQuote's archive, or monthly returns.
paper: $(ALL)
	$(BIN)/python paper/run.py $(if $(SP500),--sp500 $(SP500))

# Writes docs/benchmarks.md; ONLY="limit peers" : some of the benchmarks.
bench: $(ALL)
	$(BIN)/python benchmarks/run.py $(ONLY)

clean:
	rm -rf .venv .venv-* dist site docs/api docs/gallery
