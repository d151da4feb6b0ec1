"""What a file holds, read through a handle and unpacked.

Files are not mapped into memory: one that shrinks meanwhile would end the process.
"""

import bz2
import gzip
import lzma
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.memory import require_text
from hicorex.input.sources.choice import kind_of
from hicorex.input.sources.integrity import not_opened, stamp_of, unchanged, unreadable
from hicorex.input.sources.signatures import IN_PARTS, LENGTH, format_of

# How a compressed file begins, what it is called, and what reads it.
COMPRESSED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\0": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstandard", lambda file: pa.CompressedInputStream(file, "zstd")),
}
# Bytes that are read or unpacked at a time.
STEP = 2**22


@contextmanager
def contents(source: str | Path | BinaryIO) -> Iterator[tuple[pa.NativeFile, str]]:
    """What a file holds, unpacked, and how messages call it; it is refused if it changes meanwhile."""
    if not isinstance(source, str | Path):
        name = str(getattr(source, "name", "the file"))
        yield _unpacked(_all_of(source, name), name), name
        return
    name = str(source)
    if name == "-":
        if sys.stdin is None:
            raise HicorexError("Standard input is closed; give a file.")
        name = "standard input"
        yield _unpacked(_all_of(sys.stdin.buffer, name), name), name
        return
    try:
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            raise HicorexError(f"{name} is a folder; give a file.")
        if stat.S_ISFIFO(mode):
            with open(source, "rb") as pipe:
                yield _unpacked(_all_of(pipe, name), name), name
            return
        if not stat.S_ISREG(mode):
            raise HicorexError(f"{name} is {kind_of(name)}; give a file, or - for standard input.")
        stamp = stamp_of(name)  # before it is opened, and looked at again after: the file between is that one
        with pa.OSFile(os.fsencode(name)) as file, unchanged(name, stamp):
            yield _unpacked(file, name), name
    except OSError as error:
        raise not_opened(name, error) from None


def all_bytes(file: pa.NativeFile, name: str) -> pa.Buffer:
    """All of the contents in memory."""
    size = file.size()
    require_text(f"{name}, read at once,", size, _remedy(name, b""))
    file.seek(0)
    data = file.read_buffer(size)
    if data.size != size:
        raise unreadable(name, OSError("it ends too early"))
    return data


def _unpacked(file: pa.NativeFile, name: str) -> pa.NativeFile:
    start = file.read(LENGTH)
    file.seek(0)
    for magic, (how, reader) in COMPRESSED.items():
        if start.startswith(magic):
            try:
                with reader(file) as packed:
                    return _all_of(packed, name)
            except HicorexError:
                raise
            except Exception:
                raise HicorexError(f"{name} is compressed by {how} and broken; make or fetch it again.") from None
    return file


def _all_of(stream: Any, name: str) -> pa.NativeFile:
    """All that comes out of a stream; more than the limit allows is refused."""
    held, n_bytes, start = pa.BufferOutputStream(), 0, b""
    while piece := stream.read(STEP):
        n_bytes += len(piece)
        start = start or bytes(piece[:LENGTH])
        require_text(f"{name}, unpacked and read at once,", n_bytes, _remedy(name, start), at_least=True)
        held.write(piece)
    return pa.BufferReader(held.getvalue())


def _remedy(name: str, start: bytes) -> str:
    """What to do about contents that are too large, by their first bytes."""
    if not os.path.isfile(name):
        return "give a file, of Parquet if it is that large"
    if format_of(start) in IN_PARTS:
        return "give more memory, or unpack it and give the file in it, which can be read part by part"
    return (
        "give more memory, or convert it by pyarrow.dataset.write_dataset(pyarrow.dataset.dataset("
        f"{name!r}, format='csv'), 'table', format='parquet') and give that folder"
    )
