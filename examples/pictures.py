"""The pictures of the documentation, from data that scikit-learn ships or hicorex makes.

    python examples/pictures.py docs/figures

With Chromium and Playwright, screenshots of the report too.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine

from hicorex import Corex, HierarchicalCorex, plot
from hicorex.datasets import make_latent_tree, make_overlapping_clusters


def save(ax, path: Path) -> None:
    """Write the figure of some axes."""
    ax.get_figure().savefig(path, dpi=110)
    print(path)


def screenshots(page: Path, out: Path) -> None:
    """The report as it looks in a browser: a factor selected, and in the dark."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("There is no Chromium here: no screenshots.")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, scheme in (("report.png", "light"), ("report_dark.png", "dark")):
            view = browser.new_page(viewport={"width": 1200, "height": 860}, color_scheme=scheme)
            view.goto(page.as_uri())
            view.locator("#hierarchy").scroll_into_view_if_needed()
            view.evaluate("document.getElementById('hierarchy').scrollIntoView()")
            if scheme == "light":
                view.mouse.click(*view.evaluate("hicorex.locate('layer1_factor1')"))
                view.mouse.move(5, 5)
            view.wait_for_timeout(500)
            view.screenshot(path=out / name)
            print(out / name)
        browser.close()


def main() -> None:
    """Draw all pictures into a folder."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    out.mkdir(parents=True, exist_ok=True)

    cells = load_breast_cancer(as_frame=True)
    X = cells.data
    model = HierarchicalCorex("auto", n_states=2, random_state=0).fit(X)
    groups = pd.Series({name: name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error") for name in X})
    save(plot.graph(model, groups=groups.rename("measure")), out / "graph.png")
    save(plot.factor(model, "layer1_factor1", top=6), out / "factor.png")
    save(plot.sorted_data(model, X)[0], out / "sorted_data.png")
    save(plot.topics(Corex(5, n_states=2, random_state=0).fit(X), n=6), out / "topics.png")
    save(plot.convergence(model), out / "convergence.png")
    save(plot.pointwise(model, X), out / "pointwise.png")

    overlapping, _ = make_overlapping_clusters(random_state=0)
    save(plot.structure(Corex(3, n_states=2, random_state=0).fit(overlapping)), out / "structure.png")
    tree, _ = make_latent_tree(2000, 30, 6, root_flip=0.1, flip=(0.01, 0.05), random_state=0)
    save(plot.bounds(HierarchicalCorex((6, 1), n_states=2, random_state=0).fit(tree)), out / "bounds.png")

    wine = load_wine(as_frame=True)
    seen = ["alcohol", "color_intensity", "hue", "proline"]
    traits = wine.data[seen].assign(grower=wine.target)
    chemistry = Corex(3, n_states=3, random_state=0).fit(wine.data.drop(columns=seen))
    save(plot.associations(chemistry.associate(traits)), out / "associations.png")

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        model.report(page, X, groups=groups.rename("measure"), title="Breast cancer: cell nuclei of 569 patients")
        screenshots(page, out)


if __name__ == "__main__":
    main()
