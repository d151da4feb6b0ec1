"""Pictures as part of a page: drawn by matplotlib, in the colours of the page, be it light or dark."""

import re
import warnings
from base64 import b64encode
from collections.abc import Callable
from html import escape
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from hicorex.plot.canvas import PALETTE
from hicorex.plot.sorted_data import coloured

# A colour that no picture uses: what has it takes that of the page's text.
INK = "#010203"
STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def inline_svg(draw: Callable[[Any], Any], title: str, width: float, height: float) -> str:
    """What ``draw(ax)`` draws, as an SVG element; the same bytes for the same picture."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = StringIO()
    with rc_context(STYLE | {"svg.hashsalt": title}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has its own fonts
        figure = Figure(figsize=(width, height), layout="compressed")
        draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = text.replace("<svg", f'<svg class="figure" role="img" aria-label="{escape(title)}"', 1)
    for i, colour in enumerate(PALETTE):
        text = text.replace(colour, f"var(--c{i})")
    text = text.replace("stroke: #ffffff", "stroke: var(--paper)")
    return text.replace(INK, "currentColor").replace("#000000", "currentColor")


def inline_png(image: np.ndarray, title: str) -> str:
    """A table as of ``sorted_image`` as an image element, in the colours of ``sorted_data``."""
    from matplotlib.image import imsave

    file = BytesIO()
    imsave(file, coloured(image), format="png")
    return (
        f'<img class="pixels" alt="{escape(title)}" src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'
    )
