"""Reports and pictures.

Seconds to write the report of a model and its samples, beside those to label the samples, which a report cannot do
without; its size; and milliseconds to open it in headless Chromium, to move its slider and to pan its map.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import Block, Table, alone, timed

from hicorex import HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.plot import graph

# Waits for two frames after what was done, and returns the milliseconds.
ACT = """(() => new Promise((done) => {{ const begun = performance.now(); {act};
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun))); }}))()"""
SLIDE = "const s = document.getElementById('threshold'); s.value = 300; s.dispatchEvent(new Event('input'))"
PAN = (
    "const m = document.getElementById('map'); m.focus(); "
    "m.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))"
)
CASES = ((100, 20_000, (100, 10, 1)), (1_000_000, 100, (10, 1)), (1000, 1000, (50, 1)))


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def in_browser(path: Path) -> list[float]:
    """Milliseconds to load a page, to move its slider and to pan its map."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        loaded, _ = timed(lambda: (page.goto(path.as_uri()), page.wait_for_function("window.hicorex")))
        milliseconds = [1000 * loaded, *(page.evaluate(ACT.format(act=act)) for act in (SLIDE, PAN))]
        browser.close()
    return milliseconds


def fitted(n_samples, n_variables, layers):
    X, _ = make_latent_tree(n_samples, n_variables, layers[0], random_state=0)
    return HierarchicalCorex(layers, n_states=2, n_init=1, max_iter=8, random_state=0).fit(X), X


def measure(quick: bool) -> Iterator[Block]:
    browser = chromium() is not None and not quick
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        model, X = fitted(200, 20, (4, 1))
        model.report(path, X)  # compiles and imports
        for n_samples, n_variables, layers in ((200, 50, (4, 1)),) if quick else CASES:
            model, X = fitted(n_samples, n_variables, layers)
            labelling, _ = timed(model.transform, X)
            writing, _ = timed(model.report, path, X)
            links = int(np.count_nonzero(model.layers_[0].alpha_))
            shown = in_browser(path) if browser else [None] * 3
            size = path.stat().st_size / 1e6
            rows.append([f"{n_samples:,} x {n_variables:,}", sum(layers), links, labelling, writing, size, *shown])
        n_variables, layers = (50, (4, 1)) if quick else (5000, (50, 5, 1))
        drawing, axes = timed(graph, fitted(200, n_variables, layers)[0])
        saving, _ = timed(axes.get_figure().savefig, Path(folder) / "graph.png")
    columns = {"table": "", "factors": "", "links": ",", "labelling, s": ".1f", "writing, labelling included, s": ".1f"}
    columns |= {"size, MB": ".1f"} | dict.fromkeys(["opens, ms", "slider, ms", "move, ms"], ".0f")
    yield Table(columns, rows)
    yield f"A picture of {n_variables:,} variables in a hierarchy: {drawing:.1f} s to draw, {saving:.1f} s to save."
    if not browser:
        yield "No browser was used."


if __name__ == "__main__":
    alone(measure)
