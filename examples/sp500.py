"""The hierarchy of the companies of the S&P 500, coloured by sector, from a folder of their monthly returns.

The folder holds monthly_returns.csv.gz, a row a month and a column a company, and sectors.csv, with the columns
ticker and gics_sector; by default it is sp500 among the real data sets. Layers, states and threshold are those of the
paper.

    python examples/sp500.py [FOLDER] --out sp500

writes sp500.png, sp500.pdf and sp500.html.
"""

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd

from hicorex import HierarchicalCorex, plot

sys.path.append(str(Path(__file__).resolve().parents[1]))
import real_data


def main() -> None:
    """Fit, draw and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=real_data.find("sp500"), help="of both tables")
    parser.add_argument("--out", type=Path, default=Path("sp500"), help="what the files are called")
    options = parser.parse_args()
    if options.folder is None:
        parser.error(f"give a folder; {real_data.absent('sp500')}")

    returns = pd.read_csv(options.folder / "monthly_returns.csv.gz", index_col=0)
    companies = pd.read_csv(options.folder / "sectors.csv", index_col="ticker", keep_default_na=False)
    sectors = companies["gics_sector"].rename("sector")
    model = HierarchicalCorex((20, 3, 1), n_states=3, marginals="rank", random_state=0).fit(returns)
    ax = plot.graph(model, groups=sectors, threshold=0.16)
    for ending in ("png", "pdf"):
        ax.get_figure().savefig(options.out.with_suffix(f".{ending}"), dpi=150)
    model.report(options.out.with_suffix(".html"), groups=sectors, title="S&P 500, monthly returns")
    print(f"Sectors that factors have more companies of than by chance:\n{model.enrichment(sectors)}\n")
    print(f"{model.bounds_}\n\nPictures are in {options.out}.png and .pdf, the report in {options.out}.html.")


if __name__ == "__main__":
    main()
