"""One HTML file that shows what a model has learned, to explore, to mail and to keep."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hicorex.findings.groups import Grouping
from hicorex.input.column_kinds import ColumnDecision
from hicorex.report.page import page_of
from hicorex.report.samples import Samples, named_samples
from hicorex.report.small import small_report
from hicorex.storage.files import whole_file

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

__all__ = ["TITLE", "Samples", "named_samples", "small_report", "write_report"]

TITLE = "hicorex report"


def write_report(
    path: Any,
    model: "LayeredEstimator",
    samples: Samples | None = None,
    groupings: Sequence[Grouping] = (),
    title: str = TITLE,
    decisions: Sequence[ColumnDecision] = (),
    allow: Callable[[], None] | None = None,
) -> None:
    """Write the report of a model to a file, whole or not at all.

    Parameters
    ----------
    path : path
    model : Corex or HierarchicalCorex
    samples : Samples, default=None
        None for a report of the model alone.
    groupings : sequence of Grouping
        Ways to colour the variables.
    title : str
        What the page is called.
    decisions : sequence of ColumnDecision
        What was made of each column of the file, if the table came from one.
    allow : function, default=None
        Called right before a file that has the name is replaced, to refuse that.
    """
    page = page_of(model, samples, groupings, title, decisions)
    with whole_file(path, allow) as file:
        file.write(page.encode())
