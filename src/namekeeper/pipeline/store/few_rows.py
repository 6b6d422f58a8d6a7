"""Brings the rows of a small run into this process.

Spark plans the same jobs for ten rows as for ten million. Values in a plan need no job to be read, and Spark
leaves out queries over none of them. A file of few rows is written here without a job.
"""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from namekeeper.pipeline.files.folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from namekeeper.pipeline.store.literals import Types

__all__ = ["MOST_VALUES", "few_rows", "no_rows", "parquet_file", "parted", "rows_of_files"]

MOST_VALUES = 5_000
"""Spark compares the values of a plan each time that it changes the plan."""


def few_rows(rows: "DataFrame") -> "pa.Table | None":
    """All rows of a query, or None if there are more than `MOST_VALUES`."""
    table = rows.limit(MOST_VALUES + 1).toArrow()
    return None if table.num_rows > MOST_VALUES else table


def no_rows() -> "pa.Table":
    """A table without rows; it has no columns either."""
    import pyarrow as pa

    return pa.table({})


def rows_of_files(folder: Folder, paths: Sequence[str], types: "Types") -> "pa.Table | None":
    """The rows of data files, if they can be part of a statement; a column that a file lacks is null.

    Returns:
        None also if a file can't be read: Spark, which reads it then, says why.
    """
    if not paths:
        return no_rows()
    import pyarrow as pa
    from pyarrow import parquet

    from namekeeper.pipeline.store.literals import MOST_LITERALS, arrow_schema

    if (schema := arrow_schema(types)) is None:
        return None
    try:
        files = [parquet.ParquetFile(pa.BufferReader(folder.read(path))) for path in paths]
        # A small file can have millions of rows.
        if sum(file.metadata.num_rows for file in files) * len(types) > MOST_LITERALS:
            return None
        rows = [file.read(schema.names) for file in files]
    except (OSError, pa.ArrowInvalid):
        return None
    found = pa.concat_tables([schema.empty_table(), *rows], promote_options="permissive")
    return found.select(schema.names).cast(schema)


def parted(table: "pa.Table", by: str, key: Sequence[str]) -> "Iterator[tuple[str, pa.Table]]":
    """Rows by the values of a column, sorted by the plain columns of a key; a value is escaped for a path."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Arrow does not compare lists.
    plain = [name for name in key if not pa.types.is_nested(table.schema.field(name).type)]
    table = table.sort_by([(name, "ascending") for name in (by, *plain)])
    for value in sorted(pc.unique(table[by]).to_pylist()):
        yield quote(str(value), safe=""), table.filter(pc.equal(table[by], value))


def parquet_file(table: "pa.Table") -> io.BytesIO:
    """A Parquet file with the same schema as one that Spark writes."""
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd", store_schema=False)
    file.seek(0)
    return file
