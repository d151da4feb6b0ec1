"""Pictures as part of a page: drawn by matplotlib, in the colours of the page, be it light or dark."""

import re
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterable
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from hicorex.plot.canvas import PALETTE
from hicorex.plot.sorted_data import coloured
from hicorex.report.markup import Markup, element, picture

# A colour that no picture uses: what has it takes that of the page's text.
INK, BLACK = "#010203", "#000000"
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


def inline_svg(draw: Callable[[Any], Any], title: str, width: float, height: float) -> Markup:
    """What ``draw(ax)`` draws, as an SVG element; the same bytes for the same picture."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    file = StringIO()
    with rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has other fonts
        rcdefaults()  # whatever style the user has set
        rcParams.update(STYLE | {"svg.hashsalt": title})
        figure = Figure(figsize=(width, height), layout="compressed")
        draw(figure.subplots())
        for words in figure.findobj(Text):
            words.set_path_effects([])  # with which letters would be outlines
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", file.getvalue(), flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # the next picture would have the same
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"<[^>]*>", lambda tag: _recoloured(tag[0]), text)
    return picture(text, class_="figure", role="img", aria_label=title)


def css_colours(palette: Iterable[str]) -> str:
    """What a page has to declare for its pictures to be in these colours."""
    return " ".join(f"--c{i}: {colour};" for i, colour in enumerate(palette))


def _recoloured(tag: str) -> str:
    """A tag in the colours of the page; what is written between tags stays as people have named it."""
    for i, colour in enumerate(PALETTE):
        tag = tag.replace(colour, f"var(--c{i})")
    tag = tag.replace("stroke: #ffffff", "stroke: var(--paper)")
    return tag.replace(INK, "currentColor").replace(BLACK, "currentColor")


def inline_png(image: np.ndarray, title: str) -> Markup:
    """A table as of ``sorted_image`` as an image element, in the colours of ``sorted_data``."""
    from matplotlib.image import imsave

    file = BytesIO()
    imsave(file, coloured(image), format="png")
    source = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    return element("img", class_="pixels", alt=title, src=source)
