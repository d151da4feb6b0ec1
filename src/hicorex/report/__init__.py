"""One HTML file that shows what a model has found, to explore, to mail and to keep."""

from typing import TYPE_CHECKING, Any

from hicorex.files import whole_file
from hicorex.groups import Grouping
from hicorex.report.contents import Samples
from hicorex.report.page import page_of

if TYPE_CHECKING:
    from hicorex.explainer import Explainer

__all__ = ["Samples", "write_report"]


def write_report(
    path: Any,
    model: "Explainer",
    samples: Samples | None = None,
    groupings: list[Grouping] | None = None,
    title: str = "hicorex report",
) -> None:
    """Write the report of a model to a file, whole or not at all.

    Parameters
    ----------
    path : path
    model : Corex or HierarchicalCorex
    samples : Samples, default=None
        None for a report of the model alone.
    groupings : list of Grouping, default=None
        Ways to colour the variables.
    title : str
        What the page is called.
    """
    page = page_of(model, samples, groupings or [], title)
    with whole_file(path) as file:
        file.write(page.encode())
