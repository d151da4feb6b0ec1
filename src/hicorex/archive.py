"""Objects in a file: arrays as safetensors, everything else as text in its header, and a checksum over all of it.

Reading runs no code: only the classes that are declared storable are made, from the fields they declare.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

import hicorex
from hicorex.exceptions import HicorexError
from hicorex.files import whole_file

FORMAT = 1
_BLANK = b"0" * 64
# The header begins with the checksum, whatever the version, so that damage is told from age.
_HEAD = re.compile(rb'.{8}\{"__metadata__":\{"hicorex":"\{\\"checksum\\":\\"([0-9a-f]{64})\\",', re.DOTALL)
# The types that files hold, and how many bytes are handed on at a time.
_TYPES = ("BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "F64", "I64", "U64")
_PART = 2**22
_CLASSES: dict[str, tuple[type, tuple[str, ...]]] = {}


def storable(name: str, *fields: str) -> Callable[[type], type]:
    """Declare that files may hold a class, by a name that stays and the attributes that make up an object.

    Without attributes named, the fields of a named tuple or a data class.
    """

    def declare(cls: type) -> type:
        own = fields or getattr(cls, "_fields", None) or tuple(cls.__dataclass_fields__)  # type: ignore[attr-defined]
        _CLASSES[name] = (cls, own)
        return cls

    return declare


def write_archive(path: Any, kind: str, content: Any) -> None:
    """Write an object to a file, whole or not at all."""
    with whole_file(path) as file:
        for piece in _pieces(kind, content):
            file.write(piece)


def read_archive(path: Any, kind: str) -> Any:
    """The object in a file of this kind."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise HicorexError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from error
    return from_bytes(raw, kind, str(path))


def to_bytes(kind: str, content: Any) -> bytes:
    """An object as the bytes of a file; the same for the same object."""
    return b"".join(_pieces(kind, content))


def _pieces(kind: str, content: Any) -> Iterator[Any]:
    """The bytes of a file in pieces, between which it can be interrupted; arrays are not copied."""
    tensors: dict[str, np.ndarray] = {}
    header = {"checksum": _BLANK.decode(), "kind": kind, "format": FORMAT, "version": hicorex.__version__}
    header["content"] = _pack(content, "", tensors)
    # As safetensors lays them out: the metadata, then arrays of large types first, which aligns them all.
    order = sorted(tensors, key=lambda name: (-_TYPES.index(_type_of(tensors[name])), name))
    entries: dict[str, Any] = {"__metadata__": {"hicorex": json.dumps(header, separators=(",", ":"))}}
    end = 0
    for name in order:
        start, end = end, end + tensors[name].nbytes
        shape = list(tensors[name].shape)
        entries[name] = {"dtype": _type_of(tensors[name]), "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    checksum = hashlib.sha256(head)
    for name in order:
        for piece in _parts_of(tensors[name]):
            checksum.update(piece)
    found = _HEAD.match(head)
    assert found is not None
    yield head[: found.start(1)] + checksum.hexdigest().encode() + head[found.end(1) :]
    for name in order:
        yield from _parts_of(tensors[name])


def _type_of(array: np.ndarray) -> str:
    """What safetensors calls the type of an array."""
    if array.dtype.kind == "b":
        return "BOOL"
    return f"{array.dtype.kind.upper()}{8 * array.dtype.itemsize}"


def _parts_of(array: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array, some at a time."""
    raw = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(raw), _PART):
        yield raw[start : start + _PART]


def from_bytes(raw: bytes, kind: str, path: str) -> Any:
    """The object in the bytes of a file."""
    found = _HEAD.match(raw)
    if found is None:
        raise HicorexError(f"{path} is not a file of hicorex, or damaged from its first bytes on.")
    whole = hashlib.sha256(raw[: found.start(1)] + _BLANK)
    whole.update(memoryview(raw)[found.end(1) :])
    remedy = "delete it to start anew" if kind == "checkpoint" else "take another copy of it, or fit again"
    damaged = f"{path} is damaged; {remedy}."
    if whole.hexdigest().encode() != found[1]:
        raise HicorexError(damaged)
    try:
        header = json.loads(json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["hicorex"])
        if header["format"] > FORMAT:
            raise HicorexError(f"{path} was written by hicorex {header['version']}, a newer one; update hicorex.")
        if header["kind"] != kind:
            raise HicorexError(f"{path} is a {header['kind']}; a {kind} is needed.")
        return _unpack(header["content"], safetensors.load(raw))
    except HicorexError:
        raise
    except Exception as error:  # whole, but not as we write it
        raise HicorexError(damaged) from error


def _pack(value: Any, place: str, tensors: dict[str, np.ndarray]) -> Any:
    """A value as JSON, its arrays put among the tensors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for name, (cls, fields) in _CLASSES.items():
        if type(value) is cls:
            held = {field: getattr(value, field) for field in fields if hasattr(value, field)}
            return {"is": name, "of": {f: _pack(v, f"{place}.{f}", tensors) for f, v in held.items()}}
    if isinstance(value, np.ndarray):
        return _pack_array(value, place, tensors)
    if isinstance(value, list | tuple):
        packed = [_pack(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
        return {"is": "tuple", "of": packed} if isinstance(value, tuple) else packed
    if isinstance(value, Mapping):
        items = enumerate(value.items())
        return {"is": "map", "of": [[_pack(k, "", {}), _pack(v, f"{place}.{i}", tensors)] for i, (k, v) in items]}
    if isinstance(value, np.random.RandomState):
        return {"is": "random state", "of": _pack(value.get_state(), place, tensors)}
    raise HicorexError(f"{place[1:] or 'The model'} is of type {type(value).__name__}, which a file cannot hold.")


def _pack_array(array: np.ndarray, place: str, tensors: dict[str, np.ndarray]) -> Any:
    place = place[1:]
    if array.dtype.kind in "OU":
        values = [v.item() if isinstance(v, np.generic) else v for v in array.ravel().tolist()]
        text = json.dumps(values).encode()
        tensors[place] = np.frombuffer(text, np.uint8)
        return {"is": "text", "of": place, "shape": array.shape, "type": "object" if array.dtype.kind == "O" else "str"}
    if array.dtype.kind == "S":
        tensors[place] = np.frombuffer(array.tobytes(), np.uint8)
        return {"is": "bytes", "of": place, "shape": array.shape, "type": array.dtype.str}
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise HicorexError(f"{place} is an array of {array.dtype}, which a file cannot hold.")
    # Sums over an array depend on its order in memory to the last bit, so that is kept too.
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    tensors[place] = np.array(array.transpose(axes), array.dtype.newbyteorder("<"), order="C", copy=None)
    return {"is": "array", "of": place, "axes": axes}


def _unpack(packed: Any, tensors: dict[str, np.ndarray]) -> Any:
    if isinstance(packed, list):
        return [_unpack(item, tensors) for item in packed]
    if not isinstance(packed, dict):
        return packed
    kind, of = packed["is"], packed["of"]
    if kind == "array":
        return tensors[of].transpose(np.argsort(packed["axes"])) if packed["axes"] else tensors[of]
    if kind == "text":
        values = json.loads(tensors[of].tobytes())
        flat = np.array(values, dtype=packed["type"]) if values else np.empty(0, packed["type"])
        return flat.reshape(packed["shape"])
    if kind == "bytes":
        return np.frombuffer(tensors[of].tobytes(), packed["type"]).reshape(packed["shape"])
    if kind == "tuple":
        return tuple(_unpack(item, tensors) for item in of)
    if kind == "map":
        return {_unpack(key, tensors): _unpack(value, tensors) for key, value in of}
    if kind == "random state":
        state = _unpack(of, tensors)
        if not 0 <= state[2] <= 624:  # numpy would read beyond its table
            raise ValueError("no such state")
        generator = np.random.RandomState()
        generator.set_state(state)
        return generator
    cls, fields = _CLASSES[kind]
    held = {name: _unpack(value, tensors) for name, value in of.items()}
    if set(held) - set(fields):
        raise ValueError(f"{kind} has no {', '.join(set(held) - set(fields))}")
    if issubclass(cls, tuple):
        return cls(**held)
    made = cls.__new__(cls)
    made.__dict__.update(held)
    return made
