"""What tables in a catalog of Spark's must do, each as a function that fails if they don't.

    python -m tests.spark.catalog_trials FOLDER PLACE [REMOTE]

A program for a Spark of another release, which has its catalogs in its own configuration. What went wrong in each
trial goes to FOLDER/seen.json; the test that started it judges.
"""

import json
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.entry.ddl import ddl_of_views
from namekeeper.pipeline.entry.views import VIEWS
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.run import Request, run_once
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.session import get_session
from namekeeper.pipeline.store.catalog_store import CatalogStore
from namekeeper.pipeline.store.stores import open_or_make_store
from namekeeper.pipeline.store.table_store import TableReader
from namekeeper.pipeline.table import Table, columns
from tests.support.history.facts import fact_tables
from tests.support.history.histories import histories
from tests.support.history.pieces import pieces
from tests.support.journal.segments import write_segment
from tests.support.pipeline.law import records_of
from tests.support.system.processes import eventually

__all__ = ["TRIALS", "in_folder", "timed"]

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
}

BY_DAY = Table("change_log", "It's a trial\\", "", ("k",), columns("day string: Day's.", "k bigint: Key."))
PLAIN = BY_DAY._replace(name="events")

Rows = list[tuple[str, int]]


class Bench:
    """A namespace of its own for each trial."""

    def __init__(self, spark: SparkSession, folder: Path, location: str, name: str) -> None:
        self.spark = spark
        self.folder = folder / name
        self.location = f"{location}_{name}"
        self.format, _, self.namespace = self.location.partition(":")
        self.store = self.made(self.folder)

    def made(self, folder: Path) -> CatalogStore:
        """A warehouse in this namespace."""
        store = open_or_make_store(
            open_folder(str(folder)), None, self.location, [PLAIN.name], lambda: self.spark
        )
        assert isinstance(store, CatalogStore)
        return store

    def frame(self, *rows: tuple[str, int]) -> DataFrame:
        """Rows of a table."""
        return self.spark.createDataFrame(list(rows), BY_DAY.ddl)

    def held(self, reader: TableReader, table: Table = BY_DAY) -> Rows:
        """What a reader has."""
        return sorted((row.day, row.k) for row in reader.table(self.spark, table).collect())

    def there(self, table: Table) -> Rows:
        """What another engine finds in the catalog."""
        return sorted((row.day, row.k) for row in self.spark.table(self.name(table)).collect())

    def name(self, table: Table) -> str:
        """As SQL has it."""
        parts = [*self.namespace.split("."), table.name]
        return ".".join(f"`{part}`" for part in parts)

    def compact(self, table: Table) -> None:
        """Put the files of a table together, and forget what it was before."""
        name = self.name(table)
        if self.format == "delta":
            self.spark.sql(f"OPTIMIZE {name}").collect()
            self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
            self.spark.sql(f"VACUUM {name} RETAIN 0 HOURS").collect()
            return
        catalog, _, rest = name.partition(".")
        self.spark.sql(
            f"CALL {catalog}.system.rewrite_data_files(table => '{rest}', options => map('rewrite-all', 'true'))"
        ).collect()
        now = self.spark.sql("SELECT cast(current_timestamp() AS string)").collect()[0][0]
        self.spark.sql(
            f"CALL {catalog}.system.expire_snapshots(table => '{rest}', older_than => TIMESTAMP '{now}')"
        ).collect()
        assert self.spark.sql(f"SELECT * FROM {name}.snapshots").count() == 1


def refusal(act: Callable[[], object]) -> str:
    """What an error says."""
    try:
        act()
    except WarehouseError as error:
        return str(error)
    return ""


def exists(bench: Bench, table: Table) -> bool:
    """Whether another engine finds a table in the catalog."""
    return bench.spark.catalog.tableExists(bench.name(table))


def added_and_replaced(bench: Bench) -> None:
    """Rows are added, and replaced by day; who began before still sees what was."""
    change = bench.store.begin()
    assert bench.held(change) == []
    change.replace(BY_DAY, bench.frame(("d/1", 1), ("d 2", 2), ("d 2", 3)), by="day")
    change.append(PLAIN, bench.frame(("x", 1)))
    change.append(PLAIN, bench.frame(("x", 2)))
    assert bench.held(change) == [("d 2", 2), ("d 2", 3), ("d/1", 1)]
    assert bench.held(bench.store.reader()) == [], "not before the commit"
    change.commit(b"{}")
    reader = bench.store.reader()
    change = bench.store.begin()
    of_day = change.table(bench.spark, BY_DAY).where(fn.col("day") == "d 2")
    change.replace(BY_DAY, of_day.withColumn("k", fn.col("k") + 7), by="day", values=["d 2", "d 3"])
    change.append(PLAIN, bench.frame(("x", 3)))
    change.replace(BY_DAY, bench.frame(("d 4", 4)), by="day", values=["d 4"])
    change.commit(b"ledger")
    assert bench.held(bench.store.reader()) == [("d 2", 9), ("d 2", 10), ("d 4", 4), ("d/1", 1)]
    assert bench.held(bench.store.reader(), PLAIN) == [("x", 1), ("x", 2), ("x", 3)]
    assert bench.held(reader) == [("d 2", 2), ("d 2", 3), ("d/1", 1)]
    change = bench.store.begin()
    change.replace(BY_DAY, bench.frame(("d 5", 5)), by="day")
    change.commit(b"ledger")
    assert bench.there(BY_DAY) == bench.held(bench.store.reader()) == [("d 5", 5)]
    assert bench.store.version().ledger == b"ledger"
    bench.store.clean_up()
    described = {
        row.col_name: row.comment for row in bench.spark.sql(f"DESCRIBE {bench.name(BY_DAY)}").collect()
    }
    assert described["day"] == "Day's."


def columns_of_a_later_version(bench: Bench) -> None:
    """A table of an earlier version gets the columns that it lacks; until then they are null."""
    later = BY_DAY._replace(columns=(*BY_DAY.columns, *columns("is_new boolean: It's new.")))

    def held(reader: TableReader) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in reader.table(bench.spark, later).collect())

    change = bench.store.begin()
    change.replace(BY_DAY, bench.frame(("d 1", 1), ("d 2", 2)), by="day")
    change.commit(b"{}")
    reader = bench.store.reader()
    assert held(reader) == [("d 1", 1, None), ("d 2", 2, None)]
    change = bench.store.begin()
    change.replace(
        later, bench.frame(("d 2", 3)).withColumn("is_new", fn.lit(True)), by="day", values=["d 2"]
    )
    assert held(reader) == [("d 1", 1, None), ("d 2", 2, None)]
    change.commit(b"{}")
    assert held(bench.store.reader()) == [("d 1", 1, None), ("d 2", 3, True)]
    assert held(reader) == [("d 1", 1, None), ("d 2", 2, None)]
    described = {
        row.col_name: row.comment for row in bench.spark.sql(f"DESCRIBE {bench.name(later)}").collect()
    }
    assert described["is_new"] == "It's new."


def dead_runs(bench: Bench) -> None:
    """What a run that died has left is seen by nobody, and undone."""
    dead = bench.store.begin()
    dead.append(PLAIN, bench.frame(("of the dead", 1)))
    assert bench.held(bench.store.reader(), PLAIN) == []
    first = bench.store.begin()
    assert first.load_id == dead.load_id + 1
    first.append(PLAIN, bench.frame(("a", 1)))
    first.commit(b"{}")
    dead = bench.store.begin()
    dead.append(PLAIN, bench.frame(("of the dead", 1)))
    dead.append(PLAIN, bench.frame(("of the dead", 2)))
    assert bench.held(bench.store.reader(), PLAIN) == [("a", 1)]
    assert len(bench.there(PLAIN)) == 3
    second = bench.store.begin()
    assert bench.held(second, PLAIN) == [("a", 1)]
    second.append(PLAIN, bench.frame(("b", 2)))
    second.commit(b"{}")
    assert bench.there(PLAIN) == bench.held(bench.store.reader(), PLAIN) == [("a", 1), ("b", 2)]


def upkeep(bench: Bench) -> None:
    """Files may be put together and old versions dropped at any time between runs, dead ones included."""
    for number in range(3):
        change = bench.store.begin()
        change.append(PLAIN, bench.frame(("a", number)))
        change.commit(b"{}")
    bench.compact(PLAIN)
    assert bench.held(bench.store.reader(), PLAIN) == [("a", 0), ("a", 1), ("a", 2)]
    bench.store.begin().append(PLAIN, bench.frame(("of the dead", 1)))
    assert bench.held(bench.store.reader(), PLAIN) == [("a", 0), ("a", 1), ("a", 2)]
    change = bench.store.begin()
    change.append(PLAIN, bench.frame(("a", 3)))
    change.commit(b"{}")
    assert bench.held(bench.store.reader(), PLAIN) == bench.there(PLAIN) == [("a", n) for n in range(4)]


def wait_for_two_more(seen: Sequence[object], reading: Future[None]) -> None:
    """Wait until a reader has begun and ended."""
    before = len(seen)
    eventually(lambda: reading.done() or len(seen) > before + 1, within=300, what="a reader that has read")


def readers_while_runs_commit(bench: Bench) -> None:
    """A reader that opens the warehouse at any moment finds one run in every table, also in the middle of the next."""
    seen: list[tuple[Rows, Rows]] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            reader = bench.store.reader()
            seen.append((bench.held(reader), bench.held(reader, PLAIN)))

    runs = [("d", number) for number in range(3)]
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        try:
            for row in runs:
                change = bench.store.begin()
                change.replace(BY_DAY, bench.frame(row), by="day", values=["d"])
                wait_for_two_more(seen, reading)
                change.append(PLAIN, bench.frame(row))
                change.commit(b"{}")
        finally:
            is_over.set()
        reading.result()
    for newest, every in seen:
        assert every == runs[: len(every)], every
        assert newest == every[-1:], (newest, every)
    assert {len(every) for _, every in seen} >= {0, 1, 2}, "read in the middle of each run"


def several_writers(bench: Bench) -> None:
    """Of two runs at once, whoever finds that the other has written gives up; strangers are noticed."""
    one, two = bench.store.begin(), bench.store.begin()
    one.append(PLAIN, bench.frame(("one", 1)))
    two.append(PLAIN, bench.frame(("two", 1)))
    assert "somebody else" in refusal(lambda: one.append(PLAIN, bench.frame(("one", 2))))
    three = bench.store.begin()
    three.append(PLAIN, bench.frame(("three", 1)))
    three.commit(b"{}")
    assert bench.held(bench.store.reader(), PLAIN) == [("three", 1)]
    assert "another run has committed meanwhile" in refusal(lambda: two.commit(b"{}"))
    bench.spark.sql(f"INSERT INTO {bench.name(PLAIN)} VALUES ('mine', 1)").collect()
    assert bench.held(bench.store.reader(), PLAIN) == [("three", 1)]


def what_is_of_others(bench: Bench) -> None:
    """Tables of somebody else are left alone."""
    bench.spark.sql(f"CREATE TABLE {bench.name(PLAIN)} (day string, k bigint) USING {bench.format}").collect()
    bench.spark.sql(f"INSERT INTO {bench.name(PLAIN)} VALUES ('mine', 1)").collect()
    change = bench.store.begin()
    assert "is not a table of this warehouse" in refusal(lambda: change.append(PLAIN, bench.frame(("a", 1))))
    assert bench.there(PLAIN) == [("mine", 1)]
    assert "has tables already, events" in refusal(lambda: bench.made(bench.folder / "other"))
    bench.made(bench.folder)
    bench.location += "_2"
    assert "leave --tables out" in refusal(lambda: bench.made(bench.folder))
    bench.location = f"{bench.format}:nowhere.namekeeper"
    assert "must have the catalog nowhere" in refusal(lambda: bench.made(bench.folder / "third"))


def facts_of_a_run(bench: Bench) -> None:
    """A run over journals makes every table. Gold's rows are for the nightly run, which compares them with files."""
    some = histories(7, 1, actions=60)
    journal = bench.folder.with_name("journal")
    for records in some[0].records.values():
        for piece in pieces(records, random.Random(7)):
            write_segment(journal, piece)
    request = Request([str(journal)], str(bench.folder), tables=bench.location)
    with mock.patch("namekeeper.pipeline.gold.build.build_gold"):
        run_once(request, lambda: bench.spark, lambda *_: None)
    reader = bench.store.reader()
    wanted = {name: table.num_rows for name, table in fact_tables(records_of(some)).items()}
    assert {name: reader.table(bench.spark, FACTS[name]).count() for name in wanted} == wanted
    assert sum(count > 0 for count in wanted.values()) > 10, wanted
    missing = [table for table in (*FACTS.values(), *GOLD.values()) if not exists(bench, table)]
    assert missing == [], "also those without rows: other engines look for them by their names"
    # As `pipeline tables --ddl` prints them: temporary views, and some in a catalog that keeps views.
    for names, place in ((VIEWS, None), (("dim_day", "readable_events"), "spark_catalog.default")):
        for statement in ddl_of_views(names, bench.namespace, "UTC", place):
            bench.spark.sql(statement)
    for view in ("readable_events", "spark_catalog.default.readable_events"):
        assert bench.spark.table(view).where("ts > TIMESTAMP '2000-01-01'").count() == wanted["events"]


TRIALS = (
    added_and_replaced,
    columns_of_a_later_version,
    dead_runs,
    upkeep,
    readers_while_runs_commit,
    several_writers,
    what_is_of_others,
    facts_of_a_run,
)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say how long something took."""
    begin = time.monotonic()
    yield
    sys.stderr.write(f"{what}: {time.monotonic() - begin:.0f} s\n")


def tried(spark: SparkSession, folder: Path, location: str) -> dict[str, str]:
    """What went wrong in each trial; empty if nothing did."""
    found = {}
    for trial in TRIALS:
        name = trial.__name__
        try:
            with timed(f"{location} {name}"):
                trial(Bench(spark, folder / "warehouses", location, name))
            found[name] = ""
        except Exception:  # noqa: BLE001 -- the test shows it
            found[name] = traceback.format_exc()
    return found


def in_folder(act: Callable[[SparkSession, Path, str], dict[str, Any]]) -> None:
    """Do what the arguments say, and write down what was seen."""
    folder, location, *remote = sys.argv[1:]
    spark = get_session(remote=remote[0] if remote else None, master="local[1]", conf=SETTINGS)
    try:
        seen = {**act(spark, Path(folder), location), "spark": spark.version}
        (Path(folder) / "seen.json").write_text(json.dumps(seen))
    finally:
        spark.stop()


if __name__ == "__main__":
    in_folder(tried)
