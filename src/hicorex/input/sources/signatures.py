"""The format of a file, told by its first bytes and not by its name."""

from enum import Enum, auto

# Bytes of a file that tell its format.
LENGTH = 16


class FileFormat(Enum):
    """What a file is; whatever is not known may be text."""

    EMPTY = auto()
    NUMPY = auto()
    PARQUET = auto()
    ARROW = auto()
    FEATHER_1 = auto()
    ZIP = auto()
    EXCEL = auto()
    SPSS = auto()
    STATA = auto()
    SAS = auto()
    SAS_TRANSPORT = auto()
    HDF5 = auto()
    R = auto()
    OTHER = auto()


SIGNATURES = {
    b"\x93NUMPY": FileFormat.NUMPY,
    b"PAR1": FileFormat.PARQUET,
    b"ARROW1": FileFormat.ARROW,
    b"FEA1": FileFormat.FEATHER_1,
    b"PK\x03\x04": FileFormat.ZIP,
    b"PK\x05\x06": FileFormat.ZIP,
    b"\xd0\xcf\x11\xe0": FileFormat.EXCEL,
    b"$FL2": FileFormat.SPSS,
    b"$FL3": FileFormat.SPSS,
    b"<stata_dta>": FileFormat.STATA,
    **{bytes([version, order, 1, 0]): FileFormat.STATA for version in (113, 114, 115) for order in (1, 2)},
    bytes(12) + b"\xc2\xea\x81\x60": FileFormat.SAS,
    b"HEADER RECORD***": FileFormat.SAS_TRANSPORT,
    b"\x89HDF\r\n\x1a\n": FileFormat.HDF5,
    b"X\n\0\0\0\x02": FileFormat.R,
    b"X\n\0\0\0\x03": FileFormat.R,
}
# The formats of which some rows can be read.
IN_PARTS = (FileFormat.NUMPY, FileFormat.PARQUET, FileFormat.ARROW)


def format_of(start: bytes) -> FileFormat:
    """The format of a file that begins with these bytes, ``LENGTH`` of them or all.

    >>> format_of(b"PAR1....").name, format_of(b"a,b\\n1,2\\n").name
    ('PARQUET', 'OTHER')
    """
    if not start:
        return FileFormat.EMPTY
    return next((form for signature, form in SIGNATURES.items() if start.startswith(signature)), FileFormat.OTHER)
