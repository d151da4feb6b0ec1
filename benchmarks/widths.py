"""Width of the bounds.

Small systems whose p(x) is known, 3 to 6 variables of 2 or 3 values, three quarters of them with hidden coins;
hierarchies of 1 to 3 layers with one start and 30 iterations, every value weighted by its probability. A system is
outside if its total correlation is not between the bounds. Ranges are median (10%, 90%). Where every variable is a
function of the layer above, the width is 0 to 1e-6.
"""

import sys
from collections.abc import Iterator

import numpy as np
from harness import HERE, Block, Table, alone

from hicorex.information import total_correlation

sys.path.append(str(HERE.parent / "tests"))
from systems import fit_system, random_system


def quantiles(values) -> str:
    return "{1:.2f} ({0:.2f}, {2:.2f})".format(*np.quantile(values, [0.1, 0.5, 0.9]))


def measure(quick: bool) -> Iterator[Block]:
    n_systems = 5 if quick else 500
    rows = []
    for structure in ("tree", "overlap", "unique"):
        rng = np.random.default_rng(0)
        lower, width, outside = [], [], 0
        for _ in range(n_systems):
            p = random_system(rng)
            exact = total_correlation(p)
            bounds = fit_system(p, structure, rng, scale=1e12).bounds_
            outside += not bounds.lower - 1e-9 <= exact <= bounds.upper + 1e-9
            lower.append(bounds.lower / exact)
            width.append((bounds.upper - bounds.lower) / (bounds.entropy_upper + bounds.lower))
        rows.append([structure, n_systems, outside, quantiles(lower), quantiles(width)])
    names = ("rule", "systems", "outside", "lower / TC", "(upper - lower) / sum of H(X_i)")
    yield Table(dict.fromkeys(names, ""), rows)


if __name__ == "__main__":
    alone(measure)
