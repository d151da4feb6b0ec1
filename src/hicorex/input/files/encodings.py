"""Texts in any encoding as UTF-8."""

import codecs

import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.notes import Note, ReadAs


class NotUtf8Error(Exception):
    """A text that is not UTF-8."""


def as_utf8(data: pa.Buffer, name: str, encoding: str | None) -> tuple[pa.Buffer, list[Note]]:
    """A text as UTF-8, and notes on it; without an encoding, only a text with the mark of UTF-16 is changed."""
    notes: list[Note] = []
    if encoding is None and bytes(data[:2]) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
        notes = [ReadAs("UTF-16", by_mark=True)]
    if encoding is not None:
        try:
            if codecs.lookup(encoding).name not in ("utf-8", "ascii", "utf-8-sig"):
                data = pa.py_buffer(bytes(data).decode(encoding).encode())
        except LookupError:
            raise HicorexError(f"encoding {encoding!r} is not known; use one such as utf-8 or cp1252.") from None
        except UnicodeError:
            raise wrong_encoding(name, encoding) from None
    if bytes(data[:3]) == codecs.BOM_UTF8:
        data = data.slice(3)
    return data, notes


def from_western(data: pa.Buffer) -> tuple[pa.Buffer, Note]:
    """A text that is not UTF-8 as the encodings of western Europe have it."""
    text = bytes(data)
    try:
        return pa.py_buffer(text.decode("cp1252").encode()), ReadAs("Windows-1252", by_mark=False)
    except UnicodeDecodeError:
        return pa.py_buffer(text.decode("latin-1").encode()), ReadAs("Latin-1", by_mark=False)


def wrong_encoding(name: str, encoding: str) -> HicorexError:
    """What is said of a text in another encoding than the one given."""
    return HicorexError(f"{name} is not in the encoding {encoding}; give its true encoding.")
