"""Time as samples, variables and factors grow: exponents near 1 mean linear cost. And example 2 at 20,000 variables."""

from time import perf_counter

import numpy as np

from hicorex import Corex
from hicorex.datasets import make_latent_tree, make_overlapping_clusters

ITERATIONS = 15


def seconds(X, n_factors) -> float:
    """The shorter of two fits with a fixed number of iterations and one start."""
    times = []
    for _ in range(2):
        begin = perf_counter()
        Corex(n_factors, n_init=1, max_iter=ITERATIONS, tol=0, random_state=0).fit(X)
        times.append(perf_counter() - begin)
    return min(times)


def exponent(sizes, times) -> float:
    """The slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def groups(n_samples, n_columns, n_groups):
    rng = np.random.default_rng(0)
    coins = rng.integers(2, size=(n_samples, n_groups))
    return coins[:, np.arange(n_columns) % n_groups] + 0.5 * rng.standard_normal((n_samples, n_columns))


def main() -> None:
    import warnings

    warnings.simplefilter("ignore")
    tree = lambda n_samples, n_columns, m: make_latent_tree(n_samples, n_columns, m, random_state=0)[0]  # noqa: E731
    sweeps = {
        "samples": ([4000, 8000, 16000, 32000], lambda size, make: (make(size, 500, 10), 10)),
        "variables": ([1000, 2000, 4000, 8000], lambda size, make: (make(1000, size, 10), 10)),
        "factors": ([10, 20, 40, 80], lambda size, make: (make(1000, 1000, 80), size)),
    }
    print("| growing | sizes | kind | seconds | exponent |")
    print("|---|---|---|---|---|")
    for name, (sizes, case) in sweeps.items():
        for kind, make in (("Gaussian", groups), ("binary", tree)):
            seconds(*case(sizes[0], make))
            times = [seconds(*case(size, make)) for size in sizes]
            shown = ", ".join(f"{time:.2f}" for time in times)
            listed = ", ".join(map(str, sizes))
            print(f"| {name} | {listed} | {kind} | {shown} | {exponent(sizes, times):.2f} |", flush=True)
    X, truth = make_overlapping_clusters(cluster_size=5000, random_state=0)
    Corex(3, random_state=0).fit(X)
    begin = perf_counter()
    corex = Corex(3, random_state=0).fit(X)
    time = perf_counter() - begin
    share = corex.bounds().lower / truth.total_correlation
    print(f"\nexample 2, 20,000 variables, ten starts: {time:.2f} s, {share:.3f} of the total correlation")


if __name__ == "__main__":
    main()
