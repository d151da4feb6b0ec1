"""Writes a file of the present format, to be kept for good: run once when the format changes, never for an old one.

``python tests/golden/make.py`` from the project's root.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from models import mixed_frame

from hicorex import Corex, HierarchicalCorex
from hicorex.storage.archive import FORMAT

FOLDER = Path(__file__).parent


def main():
    table = FOLDER / "table.parquet"
    frame, kinds = mixed_frame(60)
    if not table.exists():
        frame.to_parquet(table)
    frame = pd.read_parquet(table)
    expected = FOLDER / "expected.npz"
    known = dict(np.load(expected)) if expected.exists() else {}
    models = {
        "mixed": Corex(3, n_states=3, marginals=kinds, random_state=0),
        "found": Corex("auto", n_states=2, marginals=kinds, structure="tree", random_state=np.random.RandomState(0)),
        "hierarchy": HierarchicalCorex((3, 1), n_states=2, marginals=kinds, structure="overlap", random_state=0),
        "layers": HierarchicalCorex("auto", n_states=2, marginals=kinds, random_state=0),
    }
    for name, model in models.items():
        stem = f"format{FORMAT}_{name}"
        model.fit(frame).save(FOLDER / f"{stem}.hicorex")
        known[f"{stem}_labels"] = model.transform(frame)
        known[f"{stem}_scores"] = model.score_samples(frame)
        known[f"{stem}_lower"] = model.bounds_.lower
    np.savez_compressed(expected, **known)


if __name__ == "__main__":
    main()
