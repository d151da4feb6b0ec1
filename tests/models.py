"""Models of every kind, not yet fitted, each with its samples, and samples as a fit sees them."""

import numpy as np
import pandas as pd
from conftest import mixed_table

from hicorex import Corex, HierarchicalCorex
from hicorex.engine import LocalEngine
from hicorex.estimators.model_file import model_of
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.storage.archive import from_bytes, to_bytes


def mixed_frame(n_samples=200, seed=0):
    """Every marginal, missing values, text, booleans, hostile names."""
    rng = np.random.default_rng(seed)
    values, kinds = mixed_table(rng, n_samples, missing=0.05)
    names = ["a,b", 'say "hi"', "Größe", "</script>", "\u2028", *(f"v{i}" for i in range(values.shape[1] - 5))]
    frame = pd.DataFrame(values, columns=names)
    frame["text"] = np.where(values[:, 0] > 0.5, "yes", rng.choice(["no", "nö", "0" * 64], n_samples))
    frame["flag"] = np.nan_to_num(values[:, 1]) > 0.5
    kinds = dict(zip(names, kinds, strict=True)) | {"a,b": "rank", "text": "categorical", "flag": "categorical"}
    return frame, kinds


def answers(n_samples=200, n_items=9, seed=0):
    """Answers from 1 to 5 that follow three traits, each that of three items; some are missing."""
    rng = np.random.default_rng(seed)
    traits = np.repeat(rng.normal(size=(n_samples, 3)), n_items // 3, axis=1)
    noisy = traits + rng.normal(scale=1.2, size=traits.shape)
    table = 1.0 + (noisy[:, :, None] > [-1.5, -0.5, 0.5, 1.5]).sum(axis=2)
    table[rng.random(table.shape) < 0.02] = np.nan
    return pd.DataFrame(table, columns=[f"q{i}" for i in range(table.shape[1])])


def encoded(X, marginals="auto", **options):
    """A table as a fit sees it."""
    with LocalEngine(1) as engine:
        encoder = Encoder.learn(source_of(X), marginals, None, engine)
        return encoder.encode(source_of(X), None, engine, **options)[0]


MODELS = {
    "gaussian": lambda: (Corex(2, n_states=2, marginals="gaussian", random_state=0), mixed_frame()[0].iloc[:, :8]),
    "rank": lambda: (Corex(2, marginals="rank", n_states=3, random_state=0), mixed_frame()[0].iloc[:, :8]),
    "categorical": lambda: (Corex(2, n_states=2, structure="tree", random_state=0), mixed_frame()[0][["text", "flag"]]),
    "ordered": lambda: (Corex(2, n_states=3, marginals="ordered", random_state=0), answers()),
    "array": lambda: (
        Corex(2, n_states=2, structure="overlap", random_state=0),
        mixed_frame()[0].iloc[:, :8].to_numpy(),
    ),
    "bytes": lambda: (Corex(1, n_states=2, random_state=0), np.array([[b"a", b"x"], [b"b", b"y"]] * 5)),
    "list of kinds": lambda: (
        Corex(1, n_states=2, marginals=["rank", "gaussian"]),
        mixed_frame()[0].iloc[:, :2].to_numpy(),
    ),
    "mapping of kinds": lambda: (Corex(3, n_states=2, marginals=mixed_frame()[1], random_state=0), mixed_frame()[0]),
    "auto": lambda: (Corex("auto", n_states=2, marginals=mixed_frame()[1], random_state=0), mixed_frame()[0]),
    "empty factors": lambda: (Corex(30, n_states=2, random_state=0), mixed_frame()[0].iloc[:, :4]),
    "random state": lambda: (Corex(2, n_states=2, random_state=np.random.RandomState(0)), mixed_frame()[0].iloc[:, :8]),
    "hierarchy": lambda: (
        HierarchicalCorex((3, 1), n_states=2, marginals=mixed_frame()[1], random_state=0),
        mixed_frame()[0],
    ),
    "hierarchy of sizes found": lambda: (
        HierarchicalCorex("auto", n_states=2, random_state=0),
        mixed_frame()[0].iloc[:, :10],
    ),
    "hierarchy of several sizes": lambda: (
        HierarchicalCorex((3, 2, 1), n_states=(3, 2, 2), random_state=0).set_output(transform="pandas"),
        mixed_frame()[0],
    ),
}


def layers_of(model):
    """The layers of a model as estimators: those of a hierarchy, or the model itself."""
    return getattr(model, "layers_", [model])


def model_bytes(model):
    """A fitted model as the bytes of its file."""
    return to_bytes("model", model.record())


def model_from(raw):
    """The model in the bytes of a file."""
    return from_bytes(raw, "model", "file", model_of)
