"""Reports of wide and of long tables: how long they take to write and to open, and how large they are.

Beside each: the time to label the samples, which a report cannot do without.
"""

import shutil
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.plot import graph

SLIDE = (
    "() => new Promise((done) => { const s = document.getElementById('threshold'); const t = performance.now();"
    "s.value = 300; s.dispatchEvent(new Event('input'));"
    "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - t))); })"
)
PAN = (
    "() => new Promise((done) => { const m = document.getElementById('map'); m.focus(); const t = performance.now();"
    "m.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }));"
    "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - t))); })"
)


def timed(call, *arguments):
    begun = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - begun, result


def in_browser(path):
    """Milliseconds to load a page, to move its slider and to pan its map; None without a browser."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        loaded, _ = timed(lambda: (page.goto(path.as_uri()), page.wait_for_function("window.hicorex")))
        times = 1000 * loaded, page.evaluate(SLIDE), page.evaluate(PAN)
        browser.close()
    return times


def main():
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "report.html"
        small = make_latent_tree(200, 20, 4, random_state=0)[0]
        Corex(4, n_init=1, random_state=0).fit(small).report(path)  # compiles and imports
        print(
            f"{'table':>18} {'factors':>8} {'links':>8} {'label s':>8} {'report s':>9} {'MB':>6}  load, slide, pan: ms"
        )
        for n_samples, n_variables, layers in (
            (100, 20_000, (100, 10, 1)),
            (1_000_000, 100, (10, 1)),
            (1000, 1000, (50, 1)),
        ):
            X, _ = make_latent_tree(n_samples, n_variables, layers[0], random_state=0)
            model = HierarchicalCorex(layers, n_init=1, max_iter=8, random_state=0).fit(X)
            labelled, _ = timed(model._states_and_log_z, X)
            written, _ = timed(model.report, path, X)
            links = np.count_nonzero(model.layers_[0].alpha_)
            shown = in_browser(path)
            seen = "no browser here" if shown is None else ", ".join(f"{ms:.0f}" for ms in shown)
            print(
                f"{n_samples:>9,} x {n_variables:<6,} {sum(layers):>8} {links:>8,} {labelled:>8.1f} {written:>9.1f} "
                f"{path.stat().st_size / 1e6:>6.2f}  {seen}"
            )
        X, _ = make_latent_tree(200, 5000, 50, random_state=0)
        model = HierarchicalCorex((50, 5, 1), n_init=1, max_iter=8, random_state=0).fit(X)
        drawn, ax = timed(graph, model)
        saved, _ = timed(ax.get_figure().savefig, Path(folder) / "graph.png")
        print(f"picture of the hierarchy of 5,000 variables: {drawn:.1f} s to draw, {saved:.1f} s to save")


if __name__ == "__main__":
    main()
