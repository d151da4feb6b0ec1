"""Peak memory of a fit, each in a process of its own, against twice the table plus 300 MB."""

import subprocess
import sys

CASES = {
    "2000 x 20,000 Gaussian": "rng.standard_normal((2000, 20_000))",
    "200,000 x 500 categorical, int64": "rng.integers(5, size=(200_000, 500))",
    "200,000 x 500 categorical, int8": "rng.integers(5, size=(200_000, 500), dtype=np.int8)",
}
SCRIPT = """
import resource, warnings
import numpy as np
warnings.simplefilter("ignore")
from hicorex import Corex
rng = np.random.default_rng(0)
X = {table}
Corex(5, n_init={n_init}, max_iter=12, random_state=0).fit(X)
print(X.nbytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def main() -> None:
    print("| table | size, MB | starts | peak, MB | allowed, MB |")
    print("|---|---|---|---|---|")
    for name, table in CASES.items():
        for n_init in (1, 10):
            run = [sys.executable, "-c", SCRIPT.format(table=table, n_init=n_init)]
            size, peak = map(int, subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
            allowed = 2 * size + 300e6
            print(f"| {name} | {size / 1e6:.0f} | {n_init} | {peak / 1e6:.0f} | {allowed / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
