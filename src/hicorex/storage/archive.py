"""Objects in a file: arrays as safetensors, everything else as text in its header, and a checksum over all of it.

Reading runs no code: only the classes that are declared storable are made, from the fields they declare. It takes at
most ten times the size of the file in memory, or a megabyte for a small one. A checksum tells damage, not intent: the
caller checks whether what was read makes sense.
"""

import hashlib
import json
import math
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import hicorex
from hicorex.exceptions import HicorexError, UnsoundError
from hicorex.storage.contents import STORED
from hicorex.storage.files import whole_file

# 2: why a hierarchy stops is one of a few reasons, with the sizes tried for a further layer.
FORMAT = 2
_BLANK = b"0" * 64
# The header begins with the checksum, whatever the version, so that damage is told from age.
HEAD = re.compile(rb'.{8}\{"__metadata__":\{"hicorex":"\{\\"checksum\\":\\"([0-9a-f]{64})\\",', re.DOTALL)
# What a file holds may take this multiple of its size in memory; a small file counts as one of _SMALL bytes.
# _VALUE_BYTES and _ARRAY_BYTES are what a value of JSON and an array take beside their contents.
_MOST_EXPANSION, _SMALL, _VALUE_BYTES, _ARRAY_BYTES = 8, 2**17, 64, 600
_ESCAPED = re.compile(r'"[^"]*\\u[^"]*')
_TEXT_TYPE = re.compile(r"[|<]S[0-9]+|<U[0-9]+")
_VERSION = re.compile(r"[0-9A-Za-z.+!-]{1,40}")
# The types that files hold, and how many bytes are handed on at a time.
_TYPES = ("BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "F64", "I64", "U64")
_PART = 2**22


def write_archive(path: Any, kind: str, content: Any) -> None:
    """Write an object to a file, whole or not at all."""
    with whole_file(path) as file:
        for piece in _pieces(kind, content):
            file.write(piece)


def read_archive(path: Any, kind: str, make: Callable[[Any], Any] | None = None) -> Any:
    """The object in a file of this kind, or what ``make`` makes of it.

    ``make`` raises an UnsoundError if the object makes no sense.
    """
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise HicorexError(f"{path} is not a file; give the name of one.")
        raw = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise HicorexError(f"{path} cannot be read: {reason}; check its name and folder.") from error
    return from_bytes(raw, kind, str(path), make)


def to_bytes(kind: str, content: Any) -> bytes:
    """An object as the bytes of a file. The same object gives the same bytes."""
    return b"".join(_pieces(kind, content))


def _pieces(kind: str, content: Any) -> Iterator[Any]:
    """The bytes of a file, piece by piece, so that writing can be interrupted; arrays are not copied."""
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
    found = HEAD.match(head)
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


def from_bytes(raw: bytes, kind: str, path: str, make: Callable[[Any], Any] | None = None) -> Any:
    """The object in the bytes of a file; as ``read_archive``."""
    found = HEAD.match(raw)
    if found is None:
        remedy = "name another" if kind == "checkpoint" else "give a model, or the folder of results that holds one"
        raise HicorexError(f"{path} is not a file of hicorex, or damaged from its first bytes on; {remedy}.")
    whole = hashlib.sha256(raw[: found.start(1)] + _BLANK)
    whole.update(memoryview(raw)[found.end(1) :])
    remedy = "delete it to start anew" if kind == "checkpoint" else "take another copy of it, or fit again"
    damaged = f"{path} is damaged; {remedy}."
    if whole.hexdigest().encode() != found[1]:
        raise HicorexError(damaged)
    try:
        allowance = _Allowance(len(raw))
        header = _header(raw, allowance)
        if header["format"] > FORMAT:
            raise HicorexError(f"{path} was written by hicorex {header['version']}, a newer one; update hicorex.")
        if header["kind"] != kind:
            raise HicorexError(f"{path} is a {header['kind']}; a {kind} is needed.")
        content = _Unpacker(raw, allowance).unpack(header["content"])
    except HicorexError:
        raise
    except Exception as error:  # whole, but not as we write it
        raise HicorexError(damaged) from error
    try:
        return content if make is None else make(content)
    except UnsoundError as error:
        raise HicorexError(f"{path} does not hold together ({error}); {remedy}.") from error


class _Allowance:
    """The number of bytes of memory that the contents of a file may still take."""

    def __init__(self, file_size: int):
        self._left = _MOST_EXPANSION * max(file_size, _SMALL)

    def take(self, size: int) -> None:
        """Refuse what takes more than is left."""
        self._left -= size
        if self._left < 0:
            raise ValueError("it expands too much")

    def take_json(self, text: str) -> None:
        """The same for the values of a text."""
        wide = sum(len(found[0]) for found in _ESCAPED.finditer(text))  # of up to four bytes a character
        self.take(_VALUE_BYTES * sum(map(text.count, "[{,:")) + len(text) + 3 * wide)


def _header(raw: bytes, allowance: _Allowance) -> dict[str, Any]:
    """What a file says of itself; each entry has its type."""
    # Only what is ours of safetensors' header is read here; it reads the rest itself.
    text = raw[8 : 8 + int.from_bytes(raw[:8], "little")].decode("ascii")
    text, end = json.JSONDecoder().raw_decode(text, len('{"__metadata__":{"hicorex":'))
    allowance.take(_ARRAY_BYTES * raw.count(b"{", 8 + end, 8 + int.from_bytes(raw[:8], "little")))
    allowance.take_json(text)
    header = json.loads(text)
    if header["kind"] not in ("model", "checkpoint") or type(header["format"]) is not int or header["format"] < 1:
        raise ValueError("no such kind or format")
    if not _VERSION.fullmatch(header["version"]):
        raise ValueError("no such version")
    return header


def _pack(value: Any, place: str, tensors: dict[str, np.ndarray]) -> Any:
    """A value as JSON, its arrays put among the tensors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for name, (cls, fields, _) in STORED.items():
        if type(value) is cls:
            held = {field: getattr(value, field) for field in fields if hasattr(value, field)}
            return {"is": name, "of": {f: _pack(v, f"{place}.{f}", tensors) for f, v in held.items()}}
    if isinstance(value, np.ndarray):
        return _pack_array(value, place, tensors)
    if hasattr(value, "_fields"):  # which would be read as a plain tuple
        raise _not_held(value, place)
    if isinstance(value, list | tuple):
        packed = [_pack(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
        return {"is": "tuple", "of": packed} if isinstance(value, tuple) else packed
    if isinstance(value, Mapping):
        items = enumerate(value.items())
        return {"is": "map", "of": [[_pack(k, "", {}), _pack(v, f"{place}.{i}", tensors)] for i, (k, v) in items]}
    if isinstance(value, np.random.RandomState):
        return {"is": "random state", "of": _pack(value.get_state(), place, tensors)}
    raise _not_held(value, place)


def _not_held(value: Any, place: str) -> HicorexError:
    return HicorexError(f"{place[1:] or 'The model'} is of type {type(value).__name__}, which a file cannot hold.")


def _pack_array(array: np.ndarray, place: str, tensors: dict[str, np.ndarray]) -> Any:
    place = place[1:]
    if array.dtype.kind in "OU":
        values = [v.item() if isinstance(v, np.generic) else v for v in array.ravel().tolist()]
        text = json.dumps(values).encode()
        if array.nbytes <= 4 * len(text) or array.dtype.kind == "O":
            kind = "object" if array.dtype.kind == "O" else "str"
            tensors[place] = np.frombuffer(text, np.uint8)
            return {"is": "text", "of": place, "shape": array.shape, "type": kind}
    if array.dtype.kind in "SU":  # one text that is far longer than the others takes as much room here as in memory
        array = np.array(array, array.dtype.newbyteorder("<"), order="C", copy=None)
        tensors[place] = np.frombuffer(array.tobytes(), np.uint8)
        return {"is": "bytes", "of": place, "shape": array.shape, "type": array.dtype.str}
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise HicorexError(f"{place} is an array of {array.dtype}, which a file cannot hold.")
    # Sums over an array depend on its order in memory to the last bit, so that is kept too.
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    tensors[place] = np.array(array.transpose(axes), array.dtype.newbyteorder("<"), order="C", copy=None)
    return {"is": "array", "of": place, "axes": axes}


class _Unpacker:
    """Makes the objects of a file from what its header says of them.

    Each array is used once, so that a small file cannot name a large one many times.
    """

    def __init__(self, raw: bytes, allowance: _Allowance):
        from safetensors import numpy as safetensors  # which a fit does without

        self._tensors, self._allowance = safetensors.load(raw), allowance

    def unpack(self, packed: Any) -> Any:
        """The value that the whole file stands for."""
        value = self._value(packed)
        if self._tensors:
            raise ValueError("an array that nothing uses")
        return value

    def _value(self, packed: Any) -> Any:
        if isinstance(packed, list):
            return [self._value(item) for item in packed]
        if not isinstance(packed, dict):
            return packed
        kind, of = packed["is"], packed["of"]
        if kind == "array":
            return self._array(of, packed["axes"])
        if kind == "text":
            return self._text(of, packed["shape"], packed["type"])
        if kind == "bytes":
            return self._bytes(of, packed["shape"], packed["type"])
        if kind == "tuple":
            return tuple(self._value(item) for item in of)
        if kind == "map":
            return {self._value(key): self._value(value) for key, value in of}
        if kind == "random state":
            return _random_state(*self._value(of))
        stored = STORED[kind]
        if not set(of) <= set(stored.fields):
            raise ValueError(f"{kind} has no {', '.join(set(of) - set(stored.fields))}")
        return stored.make(**{name: self._value(value) for name, value in of.items()})

    def _array(self, place: str, axes: list[int]) -> np.ndarray:
        """An array in the order in memory that it had."""
        array = self._tensors.pop(place)
        if sorted(axes) != list(range(array.ndim)):
            raise ValueError("axes that the array does not have")
        return array.transpose(np.argsort(axes)) if axes else array

    def _text(self, place: str, shape: list[int], kind: str) -> np.ndarray:
        """An array of texts, or of these and other plain values."""
        text = self._tensors.pop(place).tobytes().decode()
        self._allowance.take_json(text)
        values = json.loads(text)
        plain = (str,) if kind == "str" else (str, int, float, bool, type(None))
        if kind not in ("str", "object") or not all(isinstance(value, plain) for value in values):
            raise ValueError("no texts")
        if len(values) != math.prod(shape):
            raise ValueError("not as many texts as it says")
        if kind == "str":
            self._allowance.take(4 * len(values) * max(map(len, values), default=0))
        flat = np.empty(len(values), object)
        flat[:] = values
        return flat.astype(kind).reshape(shape) if values else np.empty(shape, kind)

    def _bytes(self, place: str, shape: list[int], kind: str) -> np.ndarray:
        """An array of texts or bytes of one length."""
        array = self._tensors.pop(place)
        if not _TEXT_TYPE.fullmatch(kind) or array.nbytes != np.dtype(kind).itemsize * math.prod(shape):
            raise ValueError("no texts of this length")
        raw = array.tobytes()
        if "U" in kind and np.frombuffer(raw, "<u4").max(initial=0) > 0x10FFFF:
            raise ValueError("no such character")
        return np.frombuffer(raw, kind).reshape(shape)


def _random_state(name: str, key: np.ndarray, position: int, *more: Any) -> np.random.RandomState:
    if not 0 <= position <= 624:  # numpy would read beyond its table
        raise ValueError("no such state")
    generator = np.random.RandomState()
    generator.set_state((name, key, position, *more))
    return generator
