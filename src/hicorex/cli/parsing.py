"""How what people write on the command line is read."""

import os
import re
from pathlib import Path

from hicorex.exceptions import HicorexError

# What hicorex takes before it has read anything, and a little.
LEAST_MEMORY = 500 * 10**6
# Endings that the folder of results goes without.
ENDINGS = (
    "csv|tsv|tab|txt|json|jsonl|ndjson|parquet|feather|arrow|npy|npz|xlsx|xlsm|xlsb|xls|ods|z?sav|dta|sas7bdat|xpt"
    "|h5ad|rds"
)


def whole_numbers(text: str, option: str, remedy: str) -> tuple[int, ...]:
    """Whole numbers separated by commas."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise HicorexError(f"{option} {text}: give {remedy}.") from None


def name_list(options: list[str] | None) -> tuple[str, ...]:
    """Names from options of several names each."""
    return tuple(name for option in options or () for name in option.split(",") if name)


def kind_pairs(options: list[str] | None) -> dict[str, str]:
    """Kinds by name from NAME=KIND,NAME=KIND."""
    pairs = {}
    for pair in name_list(options):
        name, equals, kind = pair.rpartition("=")
        if not equals:
            raise HicorexError(
                f"--kinds {pair}: write NAME=KIND, with a kind of gaussian, rank, categorical or ordered."
            )
        pairs[name] = kind
    return pairs


def memory_size(text: str | None) -> int | None:
    """Bytes from a size such as 500MB or 1.5GiB."""
    if text is None:
        return None
    size_given = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT])(i?)B\s*", text, re.IGNORECASE)
    if not size_given:
        raise HicorexError(f"--memory {text}: give a size such as 2GB, 500MB or 1.5GiB.")
    number, prefix, binary = size_given.groups()
    size = int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(prefix.upper()) + 1))
    if size < LEAST_MEMORY:
        raise HicorexError(f"--memory {text}: give at least {LEAST_MEMORY // 10**6}MB, which hicorex itself takes.")
    return size


def character(text: str | None) -> str | None:
    """A delimiter as people write it."""
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text or "", text)


def stem(data: str) -> str:
    """What results are called by default: as the file, without its endings."""
    name = "stdin" if data == "-" else Path(data).name
    name = re.sub(rf"(\.({ENDINGS}))?(\.(gz|bz2|xz|zst))?$", "", name)
    return name or "data"


def output_name(out: str) -> str:
    """Where a table is to go, - for standard output; names that promise another format are refused."""
    if out in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):  # which may be a file that is to be added to
        return "-"
    if out != "-" and Path(out).suffix not in (".csv", ".parquet", ".txt", "") and not _is_special(out):
        raise HicorexError(f"--out {out}: the table is written as CSV or Parquet; give a name in .csv or .parquet.")
    return out


def _is_special(path: str) -> bool:
    """Whether a path is a pipe, a device or the like, which may be called anything."""
    return os.path.exists(path) and not os.path.isfile(path)
