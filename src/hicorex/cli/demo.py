"""What ``hicorex demo`` shows: the paper's examples and a tree of three layers beside the truth, and a real table."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import adjusted_rand_score

from hicorex.cli.folder import write_folder
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.estimators.corex import Corex
from hicorex.estimators.hierarchy import HierarchicalCorex
from hicorex.findings.groups import Grouping, groupings_of
from hicorex.findings.tables import write_csv
from hicorex.findings.words import summary
from hicorex.input.files import Reading, Table, read_table
from hicorex.storage.files import probe_folder, whole_file
from hicorex.storage.outputs import allow_file, check_file, check_folder
from hicorex.support.printing import printable


def independent_clusters(out: Path, overwrite: bool) -> None:
    """Example 1: four groups of a hundred variables, each group copies of one coin with noise."""
    X, truth = make_independent_clusters(random_state=0)
    table = _as_file(out / "example1.csv", X, overwrite)
    print(f"Example 1: {X.shape[1]} variables, {X.shape[0]} samples, four independent groups")
    print(f"total correlation of the sample's coins: {truth.total_correlation:.1f} nats\n")
    corex = Corex(n_factors=4, marginals=table.kinds, random_state=0).fit(table.frame)
    print("iteration   objective   share of the truth")
    for iteration, objective in enumerate(corex.history_, start=1):
        print(f"{iteration:9d}   {objective:9.2f}   {objective / truth.total_correlation:18.1%}")
    print(f"\n{corex.bounds()}")
    print(f"groups found, adjusted Rand index: {adjusted_rand_score(truth.clusters, corex.clusters_):.2f}")
    right = max_agreement(corex.transform(table.frame), truth.factors)
    print(f"coins told right from the factors: {', '.join(f'{rate:.0%}' for rate in right)}\n")
    write_folder(
        out / "example1",
        corex.with_cross_fit(),
        table,
        overwrite,
        _truth(table, truth),
        "Example 1: independent clusters",
    )


def overlapping_clusters(out: Path, overwrite: bool) -> None:
    """Example 2: the last group copies the sum of the first two coins."""
    X, truth = make_overlapping_clusters(random_state=0)
    table = _as_file(out / "example2.csv", X, overwrite)
    print(f"Example 2: {X.shape[1]} variables, {X.shape[0]} samples, the last group belongs to two coins")
    print(f"total correlation of the sample's coins: {truth.total_correlation:.1f} nats\n")
    for structure in ("overlap", "unique"):
        corex = Corex(n_factors=3, structure=structure, marginals=table.kinds, random_state=0).fit(table.frame)
        print(f'structure="{structure}": {corex.bounds()}')
        print("mean alpha        " + "".join(f"factor {j}  " for j in range(3)))
        for group, name in enumerate(("coin 0", "coin 1", "coin 2", "coins 0 + 1")):
            alpha = corex.alpha_[truth.clusters == group].mean(axis=0)
            print(f"{name:>11}       " + "".join(f"{mean:8.2f}  " for mean in alpha))
        print()
    write_folder(
        out / "example2",
        corex.with_cross_fit(),
        table,
        overwrite,
        _truth(table, truth),
        "Example 2: overlapping clusters",
    )


def latent_tree(out: Path, overwrite: bool) -> None:
    """A tree of three layers, whose sizes are found, with bounds from both sides."""
    X, truth = make_latent_tree(2000, 240, (12, 3), root_flip=0.1, random_state=0)
    table = _as_file(out / "tree.csv", X, overwrite)
    print(f"A tree: {X.shape[1]} variables, {X.shape[0]} samples, 12 factors below 3 below 1")
    print(f"total correlation: {truth.total_correlation:.1f} nats\n")
    model = HierarchicalCorex("auto", n_states="auto", marginals=table.kinds, random_state=0).fit(table.frame)
    print(f"layers found: {', '.join(str(layer.n_factors_) for layer in model.layers_)}; {model.stop_reason_}")
    clusters = model.layers_[0].clusters_
    print(f"groups found, adjusted Rand index: {adjusted_rand_score(truth.clusters, clusters):.2f}\n")
    print(f"in-sample:\n{model.bounds()}\n\ncross-fitted:\n{model.cross_fitted_}\n")
    write_folder(out / "tree", model, table, overwrite, _truth(table, truth), "A tree of three layers")


def breast_cancer(out: Path, overwrite: bool) -> None:
    """Thirty measurements of cell nuclei, without the diagnosis."""
    data = load_breast_cancer()
    diagnosis = data.target_names[data.target]
    file = out / "breast_cancer.csv"
    table = _as_file(file, data.data, overwrite, data.feature_names, {"diagnosis": diagnosis}, ("diagnosis",))
    print(f"Breast cancer: {len(table.names)} measurements of the cell nuclei of {len(diagnosis)} patients")
    command = f"hicorex fit {file} --exclude diagnosis --out {out / 'breast_cancer'}"
    print(printable(f"the same as: {command}") + "\n")
    model = HierarchicalCorex("auto", marginals=table.kinds, random_state=0).fit(table.frame)
    print(summary(model.with_cross_fit()))
    first = model.transform(table.frame)[:, 0]
    print("\nThe diagnosis, which the model has not seen, by the state of layer1_factor0:")
    for name in data.target_names:
        counts = np.bincount(first[diagnosis == name], minlength=model.layers_[0].n_states_)
        print(f"{name:>10}   " + "   ".join(f"state {state}: {count:3d}" for state, count in enumerate(counts)))
    measures = groupings_of(table.names, {name: _measure(name) for name in table.names})
    write_folder(out / "breast_cancer", model, table, overwrite, measures, "Breast cancer: cell nuclei of 569 patients")


def _truth(table: Table, truth: Any) -> list[Grouping]:
    """The groups that the variables truly belong to."""
    return groupings_of(table.names, dict(zip(table.names, (f"group {c}" for c in truth.clusters), strict=True)))


def _measure(name: str) -> str:
    """What is measured, whether it is its mean, its error or its worst."""
    return name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")


def max_agreement(labels: np.ndarray, factors: np.ndarray) -> list[float]:
    """For each true factor, how often the best label, or its opposite, agrees with it, from 0 to 1."""
    same = (labels[:, :, None] == factors[:, None, :]).mean(axis=0)
    return np.maximum(same, 1 - same).max(axis=0).tolist()


def _as_file(
    path: Path,
    X: np.ndarray,
    overwrite: bool,
    names: Any = None,
    more: dict[str, Any] | None = None,
    exclude: tuple = (),
) -> Table:
    """The table as somebody would have it, in a file, and read from there."""
    names = [f"v{i}" for i in range(X.shape[1])] if names is None else names
    with whole_file(path, partial(allow_file, path, "example", overwrite, {})) as file:
        write_csv(pa.table((more or {}) | dict(zip(map(str, names), X.T, strict=True))), file)
    return read_table(path, Reading(exclude=exclude))


EXAMPLES = {
    "example1": independent_clusters,
    "example2": overlapping_clusters,
    "tree": latent_tree,
    "breast_cancer": breast_cancer,
}


def main(out: Path, overwrite: bool = False) -> None:
    """Run all examples; results go into folders below ``out``."""
    probe_folder(out)
    for name in EXAMPLES if out.is_dir() else ():
        check_file(out / f"{name}.csv", "example", overwrite, {})
        check_folder(out / name, overwrite, {})
    out.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES.values():
        example(out, overwrite)
    where = f"Tables and results are in {out}: open {out / 'breast_cancer' / 'report.html'} in a browser first."
    print("\n" + printable(where))
