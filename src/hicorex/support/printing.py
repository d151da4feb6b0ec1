"""Text that is safe to show: characters that are invisible, or that change how others look, are spelt out."""

import codecs
import io
import json
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Invisible joiners, which some scripts and emoji need.
JOINERS = "\u200c\u200d"


def printable(text: Any, kept: str = "") -> str:
    r"""Text in one line, with control characters, directions of writing and halves of characters spelt out.

    ``kept`` are characters that stay as they are.

    >>> print(printable("red\x1b[31m,\nnew line"))
    red\x1b[31m,\nnew line
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c in kept or _is_harmless(c) else ascii(c)[1:-1] for c in text)


def printable_lines(text: Any) -> str:
    """Text of several lines, made printable; the ends of lines stay."""
    return printable(text, "\n")


def json_text(value: Any, **settings: Any) -> str:
    """A value as JSON in printable ASCII."""
    return json.dumps(value, ensure_ascii=True, **settings).replace("\x7f", "\\u007f")


class PrintableStream:
    """A text stream that makes what is written printable. Bytes for its buffer, such as a table, stay as they are."""

    def __init__(self, stream: Any):
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text; the ends of lines stay."""
        if not isinstance(text, str):
            raise TypeError(f"a stream of text takes no {type(text).__name__}")
        self.stream.write(printable_lines(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class PrintableBytes(io.RawIOBase):
    """A binary stream that takes text in UTF-8 and writes it to a text stream."""

    def __init__(self, stream: Any):
        super().__init__()
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """Say that bytes can be written."""
        return True

    def write(self, data: Any) -> int:
        """Write some bytes; a character may go on in the next ones."""
        self._stream.write(self._decoder.decode(bytes(data)))
        return len(data)


@contextmanager
def printable_streams() -> Iterator[None]:
    """Standard output and standard error as printable streams."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (None if stream is None else PrintableStream(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def terminal(stream: Any) -> Any:
    """The stream below a printable stream, for a program that draws and makes its text printable itself."""
    while isinstance(stream, PrintableStream):
        stream = stream.stream
    return stream


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in JOINERS or unicodedata.category(character) == "Zs"
