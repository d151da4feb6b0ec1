"""How wide the bounds are on small systems whose p(x) is known exactly, by structure rule."""

import sys
import warnings
from pathlib import Path

import numpy as np

from hicorex.information import total_correlation

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from test_bounds import fit_system, random_system

SYSTEMS = 500


def main():
    warnings.simplefilter("ignore")
    quantiles = "median (10%, 90%)"
    print(f"| rule | systems | outside | lower / TC, {quantiles} | (upper - lower) / sum of H(X_i), {quantiles} |")
    print("|---|---|---|---|---|")
    for structure in ("tree", "overlap", "unique"):
        rng = np.random.default_rng(0)
        lower, width, outside = [], [], 0
        for _ in range(SYSTEMS):
            p = random_system(rng)
            exact = total_correlation(p)
            found = fit_system(p, structure, rng, scale=1e6).bounds_
            outside += not found.lower - 1e-9 <= exact <= found.upper + 1e-9
            lower.append(found.lower / exact)
            width.append((found.upper - found.lower) / (found.entropy_upper + found.lower))
        texts = ["{1:.2f} ({0:.2f}, {2:.2f})".format(*np.quantile(v, [0.1, 0.5, 0.9])) for v in (lower, width)]
        print(f"| {structure} | {SYSTEMS} | {outside} | {texts[0]} | {texts[1]} |", flush=True)


if __name__ == "__main__":
    main()
