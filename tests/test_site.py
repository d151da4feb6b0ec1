"""The site: every public name has a page, pages lead where they say, and examples run as notebooks."""

import ast
import inspect
import re
import shutil
import sys

import pytest
from conftest import PROJECT

import hicorex
from hicorex import datasets, exceptions, plot

DOCS, EXAMPLES = PROJECT / "docs", sorted((PROJECT / "examples").glob("plot_*.py"))
PAGES = [PROJECT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "cases").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def reference():
    """The module that writes the API reference."""
    sys.path.insert(0, str(DOCS))
    yield __import__("reference")
    sys.path.remove(str(DOCS))
    sys.modules.pop("reference")


@pytest.fixture(scope="module")
def names(reference):
    return {name: value for section in reference.public_names().values() for name, value in section.items()}


def test_every_public_name_has_a_page_of_the_reference(reference, names, tmp_path):
    wanted = {f"hicorex.{name}" for name in hicorex.__all__} - {"hicorex.datasets", "hicorex.plot"}
    wanted |= {f"hicorex.plot.{name}" for name in plot.__all__}
    made = [
        n for n, value in vars(datasets).items() if inspect.isfunction(value) and value.__module__ == "hicorex.datasets"
    ]
    wanted |= {f"hicorex.datasets.{name}" for name in made if not name.startswith("_")}
    assert wanted <= set(names)
    own = {v for v in vars(exceptions).values() if inspect.isclass(v) and v.__module__ == exceptions.__name__}
    assert own <= set(names.values())
    reference.write_reference(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.rst")} == {*names, "index"}
    index = (tmp_path / "index.rst").read_text()
    for name in names:
        assert f"<{name}>" in index
        assert f"\n   {name}\n" in index


def test_every_public_method_of_a_model_is_on_its_page(reference):
    for model in (hicorex.Corex, hicorex.HierarchicalCorex):
        page = reference.page_of(f"hicorex.{model.__name__}", model)
        for method in ("fit", "transform", "bounds", "stability", "surprise", "report", "save"):
            assert f":: {model.__name__}.{method}\n" in page
        public = {n for n, v in inspect.getmembers(model, inspect.isfunction) if v.__module__.startswith("hicorex")}
        for method in public:
            assert method.startswith("_") or f".{method}\n" in page


def test_what_a_model_can_tell_is_in_the_list_of_results():
    """All that users call, but for what scikit-learn knows of and what parts of the package ask of each other."""
    text = (DOCS / "results.md").read_text()
    documented = "\n".join(page.read_text() for page in PAGES)
    for method in (
        *("explain", "impute", "top_variables", "factors_by", "to_networkx", "redundancy", "names_prompt"),
        *("associate", "enrichment", "compare", "compare_groups", "preservation", "variables_frame", "partial_fit"),
        *("rename", "drop", "merge", "split", "freeze", "stability", "significance", "residual_pairs", "surprise"),
    ):
        assert hasattr(hicorex.Corex, method), method
        assert re.search(rf"`{method}[`(]", text), method
    assert "`plot.topics`" in text
    for picture in plot.__all__:
        assert re.search(rf"plot\.{picture}\b", documented), picture


def test_every_public_name_says_what_it_is(names):
    for name, value in names.items():
        assert inspect.getdoc(value), name


def test_what_models_give_back_is_in_the_reference(names):
    found = {name.rpartition(".")[2] for name in names}
    assert {"Bounds", "Stability", "Significance", "Surprise", "ResidualPairs"} <= found


def test_pages_lead_to_what_is_there():
    """Pages of the gallery and the API are made by the build, of examples and names that are there now."""
    for page in PAGES:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if target.startswith(("http", "mailto")):
                continue
            if made := re.search(r"gallery/(plot_\w+)\.rst$", target):
                assert PROJECT / "examples" / f"{made[1]}.py" in EXAMPLES, f"{page.name}: {target}"
            elif picture := re.search(r"sphx_glr_(plot_\w+)_(\d+)\.png$", target):
                text = (PROJECT / "examples" / f"{picture[1]}.py").read_text()
                assert text.count("plt.show()") >= int(picture[2]), f"{page.name}: {target}"
            elif not re.search(r"^(gallery|api)/index$", target):
                assert (page.parent / target).resolve().exists(), f"{page.name}: {target}"


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES[1:]:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            entries = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
            targets = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
            listed |= {(page.parent / f"{target}.md").resolve() for target in targets}
    assert {page.resolve() for page in PAGES[1:]} - listed == {DOCS / "index.md"}


def test_the_readme_fits_on_two_screens_and_names_both_commands():
    text = (PROJECT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    assert len(re.findall(r"!\[", text)) == 1
    assert "\nmake demo " in text
    assert "\nmake test " in text


def test_every_example_has_a_message_and_a_picture():
    assert len(EXAMPLES) >= 12
    titles = set()
    for path in EXAMPLES:
        title, line, text = ast.get_docstring(ast.parse(path.read_text())).split("\n", 2)
        assert set(line) == {"="}, path
        assert len(line) >= len(title), path
        assert len(text.strip()) > 100, path
        assert path.read_text().count("plt.show()") >= 1, path
        titles.add(title)
    assert len(titles) == len(EXAMPLES)


@pytest.mark.slow
def test_an_example_runs_as_a_notebook(tmp_path, monkeypatch):
    """As it can be had from its page: made by the gallery, run by Jupyter."""
    notebook = pytest.importorskip("sphinx_gallery.notebook")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # so that pictures are in the notebook
    shutil.copy(PROJECT / "examples" / "plot_growers.py", tmp_path)
    notebook.python_to_jupyter_cli([str(tmp_path / "plot_growers.py")])
    cells = nbformat.read(tmp_path / "plot_growers.ipynb", as_version=4)
    nbclient.NotebookClient(cells, timeout=600, startup_timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in cells.cells if cell.cell_type == "code" for output in cell.outputs]
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert re.search(r"0 +0 +3 +48\n1 +1 +67 +0\n2 +58 +1 +0\n", printed), printed
    assert any("image/png" in output.get("data", {}) for output in outputs)
