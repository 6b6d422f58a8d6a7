"""Rows as SQL; that Spark reads them back is in tests/spark/test_small_runs.py."""

import pyarrow as pa

from namekeeper.pipeline.store.literals import MOST_LITERALS, are_literals, arrow_schema, values_of

TYPES = {"t": "string", "n": "bigint", "i": "int", "f": "boolean"}


def test_text_is_never_sql():
    rows = pa.table({"t": ["'); DROP", None], "n": [-1, None], "i": [2, None], "f": [True, None]})
    assert values_of(rows, TYPES) == (
        "SELECT * FROM VALUES (CAST(X'27293b2044524f50' AS STRING), -1L, 2, True),"
        " (CAST(NULL AS string), CAST(NULL AS bigint), CAST(NULL AS int), CAST(NULL AS boolean))"
        " AS given(`t`, `n`, `i`, `f`)"
    )


def test_no_rows_have_columns_of_every_type():
    types = {"t": "string", "many": "array<bigint>"}
    assert values_of(pa.table({}), types) == (
        "SELECT CAST(NULL AS string) AS `t`, CAST(NULL AS array<bigint>) AS `many` WHERE false"
    )
    assert are_literals(pa.table({}), types)


def test_many_rows_and_lists_are_no_literals():
    assert are_literals(pa.table({"n": range(MOST_LITERALS)}), {"n": "bigint"})
    assert not are_literals(pa.table({"n": range(MOST_LITERALS + 1)}), {"n": "bigint"})
    assert not are_literals(pa.table({"n": [[1]]}), {"n": "array<bigint>"})
    assert arrow_schema({"n": "array<bigint>"}) is None
