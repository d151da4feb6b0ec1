"""Files as an attacker would make them: taken apart, changed, put together and sealed again, and then used."""

import copy
import json
import warnings
from hashlib import sha256

import numpy as np
from safetensors import numpy as safetensors

from hicorex.storage.archive import HEAD, from_bytes

HOSTILE = '<img src=x onerror="alert(1)">\x1b[2J'


def resealed(raw):
    """The file with the checksum that it should have."""
    start, end = HEAD.match(raw).span(1)
    blank = raw[:start] + b"0" * 64 + raw[end:]
    return blank[:start] + sha256(blank).hexdigest().encode() + blank[end:]


def taken_apart(raw):
    """What the header of a file says, and its arrays."""
    length = int.from_bytes(raw[:8], "little")
    return json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["hicorex"]), safetensors.load(raw)


def put_together(header, tensors):
    """A file of a header and arrays, sealed."""
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return resealed(safetensors.save(tensors, {"hicorex": json.dumps(header, separators=(",", ":"))}))


def entries(node):
    """Every place in a header: what holds it, and its key or index."""
    if isinstance(node, dict | list):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            yield from entries(node[key])


def changed_array(array, rng):
    """An array of another shape, type or value."""
    kind = rng.integers(10)
    axis = int(rng.integers(max(array.ndim, 1)))
    if array.ndim == 0 or kind == 0:
        return np.zeros(rng.integers(0, 4, size=rng.integers(0, 4)), array.dtype)
    if kind == 1:
        return np.repeat(array, rng.integers(2, 600), axis=axis)
    if kind == 2:
        return np.take(array, range(rng.integers(array.shape[axis] + 1)), axis=axis)
    if kind == 3:
        return np.array(array.T)
    if kind == 4:
        return array.reshape(-1)
    if kind == 5:
        types = (np.int8, np.int64, np.uint64, np.float16, np.float32, np.float64, bool)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(types[rng.integers(len(types))])
    if kind == 6:
        return array[None]
    if array.size == 0:
        return np.ones(3, array.dtype)
    array = array.copy()
    values = (0, -1, 1, 2, 7, 10**6, -(10**6), 2**31, -(2**62)) if array.dtype.kind in "iu" else (0, 1, 255)
    if array.dtype.kind == "f":
        values = (np.nan, np.inf, -np.inf, 0, -1, 1e300, -1e300, 5e-324, 0.5, 3)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        own = np.array(values[rng.integers(len(values))]).astype(array.dtype)
    if kind == 7:
        array[...] = own
    else:
        array.reshape(-1)[rng.integers(array.size, size=rng.integers(1, 4))] = own
    return array


def changed_header(header, rng):
    """A header with one entry changed, lost, added or taken from elsewhere."""
    header = copy.deepcopy(header)
    places = list(entries(header["content"]))
    holder, key = places[rng.integers(len(places))]
    values = (None, True, 0, -1, 1, 2, 3, 10**6, 2**62, 2**70, 0.5, float("nan"), float("inf"), "", "auto", HOSTILE)
    kind = rng.integers(6)
    if kind <= 2:
        holder[key] = values[rng.integers(len(values))]
    elif kind == 3:
        del holder[key]
    elif kind == 4:
        other, place = places[rng.integers(len(places))]
        holder[key] = copy.deepcopy(other[place])
    else:
        holder[key] = [[], {}, {"is": "tuple", "of": []}, [holder[key]], {"is": "corex", "of": {}}][rng.integers(5)]
    return header


def changed(raw, rng):
    """A file with an array or an entry or a few bytes of its header changed, sealed again."""
    header, tensors = taken_apart(raw)
    kind = rng.integers(5)
    if kind <= 1:
        name = list(tensors)[rng.integers(len(tensors))]
        tensors[name] = changed_array(tensors[name], rng)
        return put_together(header, tensors)
    if kind == 2:
        names = [list(tensors)[at] for at in rng.integers(len(tensors), size=2)]
        tensors |= {names[0]: tensors[names[1]], names[1]: tensors[names[0]]}
        return put_together(header, tensors)
    if kind == 3:
        return put_together(changed_header(header, rng), tensors)
    at = int(rng.integers(HEAD.match(raw).end(), int.from_bytes(raw[:8], "little")))
    return resealed(raw[:at] + rng.bytes(int(rng.integers(1, 4))) + raw[at + int(rng.integers(0, 4)) :])


def used(raw, X, folder, report=True):
    """Whether a file is a model; if so, it is put through everything that models are for."""
    from sklearn.base import clone

    import hicorex
    from hicorex import HicorexError
    from hicorex.estimators.model_file import model_of
    from hicorex.findings.description import description
    from hicorex.findings.words import summary

    try:
        model = from_bytes(raw, "model", "file", model_of)
    except HicorexError:
        return False
    names = getattr(model, "feature_names_in_", None)
    if names is not None and list(names) != list(X.columns):  # the change was to a name, which is as good as another
        X = X.set_axis(list(names), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.transform(X)
        model.posteriors(X)
        model.log_odds(X)
        model.score(X)
        model.surprise(X)
        assert isinstance(model.bounds(X), hicorex.Bounds)
        assert summary(model)
        assert json.dumps(description(model).to_dict())
        assert repr(model)
        clone(model)
        if report:
            model.report(folder / "report.html", X)
            assert model._repr_html_()
        model.save(folder / "again.hicorex")
    return True
