"""AnnData: .h5ad files and objects in memory. Observations are the rows, variables the columns."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array, issparse

from hicorex.exceptions import HicorexError
from hicorex.input.files.contents import all_bytes
from hicorex.input.files.extras import library
from hicorex.input.files.raw import RawTable, name_columns
from hicorex.input.notes import OtherColumns
from hicorex.support.annotated import is_annotated


def read_h5ad(file: pa.NativeFile, name: str) -> RawTable:
    """The matrix X of an .h5ad file, and its names."""
    anndata = library("anndata", "anndata", f"{name} is of HDF5, as AnnData files are")
    h5py = library("h5py", "anndata", f"{name} is of HDF5")
    data = all_bytes(file, name)
    try:
        with h5py.File(io.BytesIO(data), "r") as held:
            annotated = anndata.io.read_elem(held)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception:
        raise HicorexError(
            f"{name} begins like an HDF5 file but is no AnnData, or broken; save it by write_h5ad."
        ) from None
    if not is_annotated(annotated):
        raise HicorexError(f"{name} holds {type(annotated).__name__}, no AnnData; save it by AnnData.write_h5ad.")
    return raw_of_annotated(annotated, name)


def raw_of_annotated(annotated: Any, name: str) -> RawTable:
    """The matrix X of an AnnData object, and its names."""
    X = annotated.X
    if X is None:
        raise HicorexError(f"{name} has no matrix X; put the layer to learn from there.")
    if 0 in X.shape:
        raise HicorexError(f"{name} has no {'rows' if X.shape[1] else 'columns'}; give a table with some.")
    matrix = csc_array(X) if issparse(X) else np.asarray(X)
    names, notes = name_columns([str(title) for title in annotated.var_names])
    others = tuple(str(title) for title in annotated.obs.columns)
    of_rows = pa.array([str(title) for title in annotated.obs_names], pa.string())
    said = (OtherColumns(others),) * bool(others)
    return RawTable(matrix, names, None, (*said, *notes), labels=of_rows)
