"""Folders of Parquet files."""

import os
import stat
from collections.abc import Iterator

from hicorex.exceptions import HicorexError
from hicorex.input.sources.choice import ENDINGS, MODEL, kind_of
from hicorex.input.sources.formats import Parquet
from hicorex.input.sources.integrity import not_opened, whole
from hicorex.input.sources.tables import TableSource


class FolderSource(TableSource):
    """The Parquet files of a folder and of those within it as one table, in the order of their names."""

    def __init__(self, path: str):
        self._files = _parquet_files(path)
        super().__init__([whole(file, Parquet, file) for file in self._files], path)

    def check(self) -> None:
        """Refuse files that are no longer what they were, and new ones."""
        super().check()
        for file in _parquet_files(self.name):
            if file not in self._files:
                raise HicorexError(f"{file} was not there when the folder was opened; start again once all files are.")


def _parquet_files(path: str) -> list[str]:
    found = sorted(file for file in _files(path, ()) if file.lower().endswith(ENDINGS))
    if not found:
        raise HicorexError(f"{path} holds no Parquet file, *{', *'.join(ENDINGS)}; give a folder with some.")
    return found


def _files(folder: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """The files of a folder and of the folders within it, without hidden ones.

    ``above`` are the devices and inodes of the folders that lead to it.
    """
    try:
        status, names = os.stat(folder), os.listdir(folder)
    except OSError as error:
        raise not_opened(folder, error) from None
    identity = status.st_dev, status.st_ino
    if identity in above:
        raise HicorexError(f"{folder} links to a folder that holds it; remove that link.")
    if MODEL in names:
        raise HicorexError(
            f"{folder} is a folder of results, since it holds {MODEL}; give the data files themselves, or move the "
            "results away from them."
        )
    for name in names:
        path = os.path.join(folder, name)
        if name[0] in "._":
            continue
        if os.path.isdir(path):
            yield from _files(path, (*above, identity))
            continue
        if name.lower().endswith(ENDINGS) and os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise HicorexError(f"{path} is {kind_of(path)}; replace it by a file.")
        yield path
