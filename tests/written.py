"""Files of every format in memory, and what the reader makes of them, in words."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from hicorex import HicorexError
from hicorex.input.files import KnownColumns, Reading, read_new, read_table
from hicorex.input.words import note_in_words, reason_in_words

FIVE = "group,x\nu,1.5\nv,2.5\nu,3.25\nv,4\nu,5\n"


def file_of(text, encoding="utf-8"):
    return io.BytesIO(text if isinstance(text, bytes) else text.encode(encoding))


def read(text, written="utf-8", **options):
    return read_table(file_of(text, written), Reading(**options))


def read_for(content, types, *known, reading=None, **more):
    """New samples for a model that knows columns of these types."""
    source = file_of(content) if isinstance(content, str | bytes) else content
    return read_new(source, reading or Reading(), KnownColumns(types, *known, **more))


def cells(table):
    return table.frame.to_pydict()


def decision(table, name):
    own = next(d for d in table.decisions if d.name == name)
    return own.kind, reason_in_words(own)


def reasons(table):
    return [reason_in_words(own) for own in table.decisions]


def notes(table):
    return tuple(map(note_in_words, table.notes))


def lines(header, rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def assert_five(table):
    assert cells(table) == {"group": list("uvuvu"), "x": [1.5, 2.5, 3.25, 4, 5]}
    assert table.kinds == ["categorical", "gaussian"]
    assert table.names == ["group", "x"]
    assert_array_equal(table.row_names, range(5))
    assert table.row_title == "row"
    assert table.frame.schema.types[0] == pa.dictionary(pa.int32(), pa.string())


def refused(text, match, **options):
    with pytest.raises(HicorexError, match=match) as caught:
        read(text, **options)
    assert "\n" not in str(caught.value)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def feathered(table, **options):
    file = io.BytesIO()
    feather.write_feather(table, file, **options)
    return file.getvalue()


def arrow():
    return pacsv.read_csv(file_of(FIVE))


def arrow_file(table):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


ARRAY = np.random.default_rng(0).normal(size=(6, 4)).round(2)


def told_columns(table):
    """What was decided on each column, but for what depends on how many rows were looked at."""
    return [(own.name, str(own.kind), own.unit, own.written) for own in table.decisions]
