"""Fitted models as files hold them. The names of the entries stay, even where the code calls a thing otherwise."""

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from hicorex.exceptions import UnsoundError
from hicorex.fitted.layer import FittedLayer
from hicorex.fitted.model import FittedModel, StopReason
from hicorex.fitted.surprise import Usual
from hicorex.input.encoder import Encoder
from hicorex.storage.soundness import agree, is_a, known, list_of


class CorexRecord(SimpleNamespace):
    """The entries of a ``Corex``, as attributes."""


class HierarchyRecord(SimpleNamespace):
    """The entries of a ``HierarchicalCorex``, as attributes."""


ModelRecord = CorexRecord | HierarchyRecord

COREX_PARAMETERS = (
    *("batch_size", "marginals", "max_iter", "n_factors", "n_init", "n_jobs", "n_states", "output", "parsimony"),
    *("random_state", "structure", "tol", "verbose"),
)
HIERARCHY_PARAMETERS = (
    *("batch_size", "layers", "marginals", "max_iter", "n_init", "n_jobs", "n_states", "output", "parsimony"),
    *("random_state", "structure", "tol", "verbose"),
)
# What belongs to a model of one layer or of several: its columns, its file, the output that is set, and the
# cross-fitted bounds, the stability and the residual pairs once they are made.
TABLE_ENTRIES = ("n_features_in_", "feature_names_in_")
OTHER_ENTRIES = ("_reading", "_sklearn_output_config", "cross_fitted_", "stability_", "_pairs")
# Entries of a layer that are fields of it, and those that follow from others.
FIELDS = {
    "alpha_": "alpha",
    "mutual_information_": "mutual_information",
    "tcs_": "tcs",
    "link_pvalues_": "link_pvalues",
    "clusters_": "clusters",
    "bounds_": "bounds",
    "sizing_": "sizing",
    "history_": "history",
    "histories_": "histories",
    "_schema": "encoder",
    "_state": "state",
    "_links": "links",
    "_surprisals": "surprisals",
    "_inner": "reads_labels",
    "_stream": "stream",
    "_anchors": "anchors",
    "_factor_names": "factor_names",
}
DERIVED: dict[str, Callable[[Any], Any]] = {
    "tc_": lambda layer: layer.tc,
    "n_factors_": lambda layer: layer.n_factors,
    "n_iter_": lambda layer: len(layer.history),
}
# By how much, relatively, a sum may differ from that of the same numbers on another machine.
SUM_ROUNDING = 1e-9
OPTIONAL = ("sizing_", "_stream", "_anchors", "_factor_names")
LAYER_ENTRIES = (
    *("alpha_", "mutual_information_", "tcs_", "tc_", "link_pvalues_", "clusters_", "bounds_", "n_factors_", "sizing_"),
    *(
        "history_",
        "histories_",
        "n_iter_",
        "_schema",
        "_state",
        "_links",
        "_joints",
        "_surprisals",
        "_usual",
        "_inner",
        "_stream",
        "_anchors",
        "_factor_names",
    ),
)
HIERARCHY_ENTRIES = ("layers_", "bounds_", "tc_", "n_iter_", "stop_reason_", "next_sizing_", "_usual")
COREX_FIELDS = (*COREX_PARAMETERS, *TABLE_ENTRIES, *LAYER_ENTRIES, *OTHER_ENTRIES)
HIERARCHY_FIELDS = (*HIERARCHY_PARAMETERS, *TABLE_ENTRIES, *HIERARCHY_ENTRIES, *OTHER_ENTRIES)


def layer_entries(layer: FittedLayer) -> dict[str, Any]:
    """A layer by entries, in their order."""
    held = {entry: getattr(layer, name) for entry, name in FIELDS.items()}
    held |= {entry: value_of(layer) for entry, value_of in DERIVED.items()}
    held["_usual"] = tuple(layer.usual)
    held["_joints"] = {False: layer.joints} | ({} if layer.feeding_joints is None else {True: layer.feeding_joints})
    return {entry: held[entry] for entry in LAYER_ENTRIES if not (entry in OPTIONAL and held[entry] in (None, {}))}


def layer_of(entries: Mapping[str, Any], encoder: Encoder | None = None) -> FittedLayer:
    """The layer of these entries, with another encoder if one is given; the contents are not checked yet."""
    known(entries, LAYER_ENTRIES)
    held = {FIELDS[entry]: value for entry, value in entries.items() if entry in FIELDS}
    held.setdefault("link_pvalues", np.full_like(entries["alpha_"], np.nan))
    held["histories"] = _histories(entries["history_"], entries.get("histories_"))
    held["usual"] = Usual(*entries["_usual"])
    joints = is_a(dict, entries["_joints"], "the joint marginals")
    agree(set(joints) <= {False, True} and False in joints, "joints", "the layers")
    held |= {"joints": joints[False], "feeding_joints": joints.get(True)}
    if encoder is not None:
        held["encoder"] = encoder
    layer = FittedLayer(**held)
    for entry, value_of in DERIVED.items():
        _derived(entry, entries[entry], value_of(layer))
    return layer


def _histories(history: np.ndarray, histories: list[np.ndarray] | None) -> list[np.ndarray]:
    """The histories of all starts, among them that of the start that was kept.

    Early files hold that one alone, or add the batches of a stream to it and not to its copy among the others.
    """
    if histories is None:
        return [history]
    is_a(np.ndarray, history, "history_")
    list_of(np.ndarray, histories, "histories_")
    if any(of_start.size == history.size and np.array_equal(of_start, history) for of_start in histories):
        return histories
    return [history if np.array_equal(begun, history[: begun.size]) else begun for begun in histories]


def corex_record(parameters: Mapping[str, Any], fitted: FittedModel, output: Mapping[str, Any]) -> CorexRecord:
    """A model of one layer with these parameters, and the output that is set."""
    layer = layer_entries(fitted.layers[0])
    return CorexRecord(**parameters, **_table_entries(fitted), **layer, **_others(fitted, output))


def hierarchy_record(
    parameters: Mapping[str, Any], fitted: FittedModel, output: Mapping[str, Any], layers: list[CorexRecord]
) -> HierarchyRecord:
    """A model of several layers with these parameters, the records of its layers, and the output that is set."""
    sizing = {} if fitted.next_sizing is None else {"next_sizing_": fitted.next_sizing}
    return HierarchyRecord(
        **parameters,
        **_table_entries(fitted),
        layers_=layers,
        bounds_=fitted.bounds,
        tc_=fitted.tc,
        n_iter_=fitted.n_iter,
        stop_reason_=str(fitted.stop_reason),
        **sizing,
        _usual=tuple(fitted.usual),
        **_others(fitted, output),
    )


def _table_entries(fitted: FittedModel) -> dict[str, Any]:
    names = {} if fitted.names is None else {"feature_names_in_": fitted.names}
    return {"n_features_in_": fitted.n_columns} | names


def _others(fitted: FittedModel, output: Mapping[str, Any]) -> dict[str, Any]:
    given = {
        "_reading": dict(fitted.reading),
        "_sklearn_output_config": dict(output),
        "cross_fitted_": fitted.cross_fitted,
        "stability_": fitted.stability,
        "_pairs": fitted.pairs,
    }
    return {entry: value for entry, value in given.items() if value}


def fitted_of(record: ModelRecord) -> FittedModel:
    """What the model of a record has learned; the contents are not checked yet."""
    held = vars(record)
    more = {
        "names": held.get("feature_names_in_"),
        "reading": held.get("_reading", {}),
        "cross_fitted": held.get("cross_fitted_"),
        "stability": held.get("stability_"),
        "pairs": held.get("_pairs"),
    }
    if isinstance(record, CorexRecord):
        layer = layer_of({entry: held[entry] for entry in LAYER_ENTRIES if entry in held})
        fitted = FittedModel((layer,), layer.bounds, layer.usual, **more)
    else:
        layers = [fitted_of(layer).layers[0] for layer in list_of(CorexRecord, held["layers_"], "layers_")]
        if not layers:
            raise UnsoundError("layers_ is empty")
        stop_reason = _stop_reason(held["stop_reason_"], held["layers"], layers[-1])
        more |= {"stop_reason": stop_reason, "next_sizing": held.get("next_sizing_")}
        fitted = FittedModel(tuple(layers), held["bounds_"], Usual(*held["_usual"]), **more)
        _derived("tc_", held["tc_"], fitted.tc)
        _derived("n_iter_", held["n_iter_"], fitted.n_iter)
    _derived("n_features_in_", held["n_features_in_"], fitted.n_columns)
    return fitted


def _stop_reason(words: Any, asked: Any, top: FittedLayer) -> StopReason:
    """Why there is no further layer. Files of format 1 use other words; the top layer then tells."""
    if is_a(str, words, "stop_reason_") in list(StopReason):
        return StopReason(words)
    if not isinstance(asked, str):
        return StopReason.AS_ASKED
    if top.sizing is not None and not top.sizing.chosen.explains:
        return StopReason.NOTHING  # only a first layer is kept that explains nothing
    return StopReason.ONE_FACTOR if top.n_factors == 1 else StopReason.NOTHING_MORE


def _derived(entry: str, stored: Any, value: Any) -> None:
    """Refuse an entry that is not what follows from the others; another machine may round a sum differently."""
    agree(type(stored) is type(value) and math.isclose(stored, value, rel_tol=SUM_ROUNDING), entry, "the rest")
