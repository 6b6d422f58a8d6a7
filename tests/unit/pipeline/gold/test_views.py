"""The statements that Spark gets for named queries; that their rows are right is in tests/spark."""

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from namekeeper.pipeline.gold.views import SparkViews
from namekeeper.pipeline.store.literals import MOST_LITERALS
from namekeeper.pipeline.table import Table, columns

TABLE = Table("broker", "", "", (), columns("n bigint: Number."))
FUNCTION = 1
"""Statements before the first query."""


class Spark:
    """A session that notes what it is asked for."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.views: list[str] = []
        self.catalog = SimpleNamespace(dropTempView=self.views.remove)

    def sql(self, sql: str, args: dict[str, Any] | None = None) -> "Rows":
        self.statements.append(" ".join(sql.split()) + (f" {args}" if args else ""))
        return Rows(self)

    def createDataFrame(self, table: pa.Table, ddl: str) -> "Rows":  # noqa: N802 -- Spark's name
        return Rows(self)


class Rows:
    """A DataFrame."""

    def __init__(self, spark: Spark) -> None:
        self._spark = spark
        self.schema = [SimpleNamespace(name="n", dataType=SimpleNamespace(simpleString=lambda: "bigint"))]

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 -- Spark's name
        self._spark.views.append(name)


class Tables:
    """A table with many rows, or with few."""

    report_time_zone = "UTC"

    def __init__(self, spark: Spark, few: pa.Table | None) -> None:
        self._spark = spark
        self._few = few
        self.read = 0

    def few(self, table: Table) -> pa.Table | None:
        return self._few

    def table(self, spark: Spark, table: Table) -> Rows:
        self.read += 1
        return Rows(self._spark)


class Views(SparkViews):
    """Keeps a number as the rows of every query."""

    def kept(self, rows: Any) -> pa.Table:
        return pa.table({"n": [7]})


@pytest.fixture
def spark() -> Spark:
    return Spark()


def views_of(spark: Spark, few: pa.Table | None = None) -> Views:
    return Views(spark, Tables(spark, few))  # type: ignore[arg-type]


def test_queries_are_parts_of_the_statement_that_needs_them(spark: Spark):
    views = views_of(spark)
    views.show("broker", TABLE)
    views.define("unread", "SELECT * FROM broker", {})
    views.define("one", "SELECT n, :zone FROM broker WHERE n > :least -- :no", {"least": -3, "zone": "UTC"})
    views.define("two", "SELECT * FROM one a JOIN one b ON a.n IS DISTINCT FROM b.n", {})
    assert spark.statements[FUNCTION:] == spark.views == []
    views.frame("two")
    (statement,) = spark.statements[FUNCTION:]
    assert statement == (
        "WITH one AS ( SELECT n, :zone FROM broker WHERE n > (-3) ),"
        " two AS ( SELECT * FROM one a JOIN one b ON a.n IS DISTINCT FROM b.n )"
        " SELECT * FROM two {'zone': 'UTC'}"
    )
    assert spark.views == ["broker"]
    views.close()
    assert spark.views == []


@pytest.mark.parametrize("count", [0, 1, MOST_LITERALS])
def test_few_rows_are_no_view(spark: Spark, count: int):
    views = views_of(spark, pa.table({"n": range(count)}))
    views.show("broker", TABLE)
    views.put("number", "n bigint", [(n,) for n in range(count)])
    views.define("kept", "SELECT * FROM broker", {}, keep=True)
    views.define("all", "SELECT * FROM broker JOIN number JOIN kept", {})
    views.frame("all")
    assert spark.views == []
    assert views.rows("broker") == views.rows("number") == [{"n": n} for n in range(count)]
    assert views.rows("kept") == [{"n": 7}]
    assert len(spark.statements[FUNCTION:]) == 2


def test_many_values_are_a_view(spark: Spark):
    views = views_of(spark)
    views.put("number", "n bigint", [(n,) for n in range(MOST_LITERALS + 1)])
    views.define("all", "SELECT * FROM number", {})
    views.frame("all")
    assert spark.views == ["number"]


def test_a_query_reads_what_a_name_meant_when_it_was_defined(spark: Spark):
    views = views_of(spark)
    for number in (1, 2):
        views.put("number", "n bigint", [(number,)])
        views.define(f"after_{number}", "SELECT * FROM number", {})
    views.define("both", "SELECT * FROM after_1 JOIN after_2", {})
    views.frame("both")
    (statement,) = spark.statements[FUNCTION:]
    assert statement == (
        "WITH number AS ( SELECT * FROM VALUES (1L) AS given(`n`) ), after_1 AS ( SELECT * FROM number ),"
        " number_2 AS ( SELECT * FROM VALUES (2L) AS given(`n`) ), after_2 AS ( SELECT * FROM number_2 ),"
        " both AS ( SELECT * FROM after_1 JOIN after_2 ) SELECT * FROM both"
    )


def test_rows_of_a_table_are_read_again_when_it_has_others(spark: Spark):
    views = views_of(spark)
    views.show("broker", TABLE)
    views.define("before", "SELECT * FROM broker", {})
    views.show("broker", TABLE)
    views.define("again", "SELECT * FROM broker", {})
    views.frame("again")
    views.forget(TABLE)
    views.show("broker", TABLE)
    views.define("after", "SELECT * FROM before JOIN broker", {})
    views.frame("after")
    assert spark.views == ["broker", "broker_2"]
    assert spark.statements[-1] == (
        "WITH before AS ( SELECT * FROM broker ), after AS ( SELECT * FROM before JOIN broker_2 )"
        " SELECT * FROM after"
    )


def test_rows_that_no_query_has_read_are_forgotten_with_their_table(spark: Spark):
    views = views_of(spark)
    views.show("old_broker", TABLE)
    views.forget(TABLE)
    with pytest.raises(KeyError, match="old_broker"):
        views.frame("old_broker")
