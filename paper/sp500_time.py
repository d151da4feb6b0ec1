"""The crash of 2008.

Point-wise total correlation of each month beside the index of the same companies, equally weighted.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import HierarchicalCorex, plot
from hicorex.datasets import load_quantquote

SOURCE = "sp500"


def run(out: Path, quick: bool, source: Path | None) -> list[dict[str, Any]]:
    """Find the most unusual months, and the factors that say so."""
    returns = load_quantquote(source)
    X = pd.DataFrame(returns.data, index=pd.Index(returns.months, name="month"), columns=returns.feature_names)
    model = HierarchicalCorex((20, 3, 1), n_states=3, marginals="rank", n_init=1 if quick else 10, random_state=0).fit(
        X
    )
    surprise = model.surprise(X)
    order = np.argsort(-np.abs(surprise.samples))
    names = model.get_feature_names_out()
    said = [names[j] for j in np.argsort(-np.abs(surprise.factors[order[0]]))[:3]]

    index = 100 * np.cumprod(1 + returns.data.mean(axis=1))
    ax = plot.pointwise(model, X, index=X.index, series={"index of the companies, 1998 = 100": index}, surprising=4)
    ax.get_figure().savefig(out / "sp500_time.png", dpi=110)
    plt.close("all")

    first = returns.months[order[0]]
    listed = ", ".join(f"{returns.months[i]} ({surprise.samples[i]:+.1f})" for i in order[:4])
    return [
        {
            "id": "sp500_time:crash",
            "claim": "The crash of 2008 is the most unusual event",
            "paper": "the most unusual event of the decade",
            "measured": f"most unusual months, in standard deviations: {listed}; the first one by {', '.join(said)}",
            "reproduced": "2008-09" <= first <= "2008-11",
        }
    ]
