"""What ingest makes of segments: the same tables, however they were cut, named, packed, doubled and delivered."""

import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from namekeeper.journal.contract.checksum import Checksum, check_line, with_checksum
from namekeeper.pipeline.checks.files import check_files
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest import batch, few_records
from namekeeper.pipeline.ingest.checksum import damage_of
from namekeeper.pipeline.ingest.records import REASON, columns_of_segments, is_unreadable, records_of
from namekeeper.pipeline.schema import INCOMPLETE, KINDS_OF, QUARANTINE
from namekeeper.pipeline.store.manifest import newest_manifest, path_of
from tests.spark.facts_oracle import expected_facts, written
from tests.spark.running import leave_gold_out, rows, run
from tests.support.journal.segments import UUID8, lines_of, records_of_a_boot, segment_name, write_segment

pytestmark = [pytest.mark.slow]

BOOT = 1_772_323_200_000
TABLES = ["events", *KINDS_OF]

Record = dict[str, Any]


@pytest.fixture(autouse=True)
def without_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_gold_out(monkeypatch)


def boots(count: int, changes: int = 12) -> list[list[Record]]:
    """Records of the boots of several name servers, two boots each."""
    return [
        records_of_a_boot(f"ns-{number // 2}", BOOT + number % 2 * 86_400_000, number, changes)
        for number in range(count)
    ]


def pieces(records: Sequence[Record], rng: random.Random) -> Iterator[tuple[list[Record], dict[str, Any]]]:
    """Records cut anywhere into segments that may overlap, with how each is written."""
    cuts = sorted(rng.sample(range(1, len(records)), min(3, len(records) - 1)))
    for first, last in zip([0, *cuts], [*cuts, len(records)], strict=True):
        reach = rng.choice([0, 0, 3])
        ending = rng.choice([".jsonl", ".jsonl.gz"])
        yield (
            list(records[max(0, first - reach) : last + reach]),
            {"ending": ending, "level": rng.randint(1, 9)},
        )


def test_the_law_of_ingest(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, whole and once; or cut anywhere, overlapping, doubled, renamed, late: the tables are the same."""
    rng = random.Random(20)
    every = boots(12)
    wanted = expected_facts([record for boot in every for record in boot], UUID8)
    runs = [tmp_path / f"arrival-{number}" for number in range(3)]
    for boot in every:
        for part, how in pieces(boot, rng):
            write_segment(rng.choice(runs) / "sub", part, **how)
            if rng.random() < 0.3:  # the same again, somewhere else, perhaps packed otherwise
                write_segment(rng.choice(runs), part, ending=rng.choice([".jsonl", ".jsonl.gz"]))
            if rng.random() < 0.2:  # the same under a name that promises other records
                path = write_segment(rng.choice(runs) / "renamed", part)
                path.rename(path.with_name(segment_name([{**part[0], "seq": 900}, {**part[-1], "seq": 999}])))
    for arrived in range(3):
        monkeypatch.setattr(batch, "LARGE_BYTES", 1 << 60 if arrived == 1 else 1)
        run(spark, tmp_path / "warehouse", *runs[: arrived + 1])
    found = written(tmp_path / "warehouse")
    assert [name for name in TABLES if found[name] != wanted[name]] == []
    assert all(wanted.values()), "every table has rows to compare"
    assert run(spark, tmp_path / "warehouse", *runs).loads == []


@pytest.mark.parametrize("large_bytes", [1, batch.LARGE_BYTES])
def test_clean_segments_are_written_at_once_and_counted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int
) -> None:
    monkeypatch.setattr(batch, "LARGE_BYTES", large_bytes)
    boot = records_of_a_boot("ns", BOOT, 3, 30)
    cut = next(
        index for index in range(len(boot) // 2, len(boot)) if boot[index]["change"] == boot[index]["seq"]
    )
    write_segment(tmp_path / "j", boot[:cut])
    first = run(spark, tmp_path / "w", tmp_path / "j")
    write_segment(tmp_path / "j", boot[cut:])
    second = run(spark, tmp_path / "w", tmp_path / "j")
    assert written(tmp_path / "w") == expected_facts(boot, UUID8)
    spans = [outcome.loads[0].loaded for outcome in (first, second)]
    times = [record["ts"] for record in boot]
    assert [(*span[0][:5],) for span in spans] == [
        ("ns", UUID8, BOOT, 1, cut), ("ns", UUID8, BOOT, cut + 1, len(boot)),
    ]  # fmt: skip
    assert spans[0][0].first_ts == min(times[:cut])
    assert spans[1][0].last_ts == max(times[cut:])
    loads = {row["load_id"] for row in rows(spark, tmp_path / "w", "events")}
    assert loads == {1, 2}
    files = {name: files_of(tmp_path / "w", name) for name in ("events", "broker_minute", "kv")}
    assert (files["broker_minute"] < files["events"]) == (large_bytes == 1), "of a large load they are shared"
    assert not files["kv"] & files["events"]
    assert not list((tmp_path / "w" / "staging").glob("*"))


def files_of(warehouse: Path, table: str) -> set[str]:
    """Data files of a table."""
    manifest = newest_manifest(open_folder(str(warehouse)))
    assert manifest is not None
    return {part.path for part in manifest.tables[table]}


def test_few_records_make_in_this_process_what_spark_makes_of_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, other = boots(3)
    write_segment(tmp_path / "j", one)
    write_segment(tmp_path / "j", two)
    # Rejected lines do not keep the others out of this process.
    (tmp_path / "j" / segment_name(other)).write_bytes(gzip.compress(b"{}\n" * 3))
    loads, tables = [], []
    for most, name in ((few_records.MOST_LINES, "here"), (-1, "spark")):
        monkeypatch.setattr(few_records, "MOST_LINES", most)
        loads.append(run(spark, tmp_path / name, tmp_path / "j").loads)
        tables.append(tables_of(tmp_path / name))
    assert loads[0] == loads[1]
    assert loads[0][0].rejected == 3
    assert tables[0] == tables[1]
    assert set(tables[0]) == {*TABLES, QUARANTINE.name}
    for name, one_process in (("here", True), ("spark", False)):
        files = {Path(path).name for table in TABLES for path in files_of(tmp_path / name, table)}
        assert (files == {"part-0.zstd.parquet"}) == one_process


def tables_of(warehouse: Path) -> Mapping[str, list[tuple[object, ...]]]:
    """Data files of each table: schema, rows, compression, and what a manifest says but path, size and sum.

    They are sorted, because a folder lists the files of two tasks in any order.
    """
    manifest = newest_manifest(open_folder(str(warehouse)))
    assert manifest is not None
    found: dict[str, list[tuple[object, ...]]] = {}
    for name, parts in manifest.tables.items():
        for part in parts:
            file = pq.ParquetFile(warehouse / part.path)
            rows = sorted(json.dumps(row, default=str) for row in file.read().to_pylist())
            schema = file.schema_arrow.remove_metadata()
            compression = file.metadata.row_group(0).column(0).compression
            found.setdefault(name, []).append((schema, rows, compression, part.value, part.crc is None))
    return {name: sorted(files, key=str) for name, files in found.items()}


def test_a_change_that_was_cut_waits_for_the_rest(spark: SparkSession, tmp_path: Path) -> None:
    boot = records_of_a_boot("ns", BOOT, 5, 30)
    cut = next(index for index in range(5, len(boot)) if boot[index]["change"] < boot[index]["seq"])
    write_segment(tmp_path / "j", boot[:cut])
    run(spark, tmp_path / "w", tmp_path / "j")
    assert written(tmp_path / "w") == expected_facts(boot[:cut], UUID8)
    assert {row["change"] for row in rows(spark, tmp_path / "w", INCOMPLETE.name)} == {boot[cut]["change"]}
    write_segment(tmp_path / "j", boot[cut:])
    outcome = run(spark, tmp_path / "w", tmp_path / "j")
    assert written(tmp_path / "w") == expected_facts(boot, UUID8)
    assert outcome.loads[0].loaded[0].first_seq == boot[cut]["change"], (
        "the span holds the change that is whole now"
    )


BAD_LINES = {
    "torn": b'{"kind":"kv","v":1,"namesrv":"ns"',
    "NULs": b"\0" * 50,
    "not UTF-8": b'{"kind":"kv","v":1,"namesrv":"\xff\xfe"}',
    "a list": b"[1,2,3]",
    "text for a number": b'{"kind":"server_alive","v":1,"namesrv":"ns","boot":1,"seq":"two","change":1,"ts":1,"up_ms":1}',
    "out of range": b'{"kind":"server_alive","v":1,"namesrv":"ns","boot":1,"seq":99999999999999999999,"change":1,"ts":1,"up_ms":1}',
    "no seq": b'{"kind":"server_alive","v":1,"namesrv":"ns","boot":1,"change":1,"ts":1,"up_ms":1}',
    "no time at all": b'{"kind":"server_alive","v":1,"namesrv":"ns","boot":1,"seq":3,"change":3,"ts":9e18,"up_ms":1}',
    "a member of its kind missing": b'{"kind":"broker_live","v":1,"namesrv":"ns","boot":1,"seq":3,"change":3,"ts":1,"up_ms":1}',
    "a topic row of three": b'{"kind":"topic_queues","v":1,"namesrv":"ns","boot":1,"seq":3,"change":3,"ts":1,"up_ms":1,"broker_name":"b","rows":[["t",1,2]]}',
    "queues that are no number": b'{"kind":"topic_queues","v":1,"namesrv":"ns","boot":1,"seq":3,"change":3,"ts":1,"up_ms":1,"broker_name":"b","rows":[["t",1,2,6,"x"]]}',
    "of tomorrow": b'{"kind":"kv","v":2,"namesrv":"ns","boot":1,"seq":3,"change":3,"ts":1,"up_ms":1,"namespace":"n","key":"k","colour":"red"}',
    "of no version": b'{"kind":"kv","namesrv":"ns","boot":1,"seq":3,"change":3,"ts":1,"up_ms":1,"namespace":"n","key":"k"}',
    "long": b'{"kind":"kv","v":1,"namesrv":"ns","value":"' + b"x" * 25_000_000,
}  # fmt: skip


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_line_that_stops_a_large_batch_is_one_that_a_small_one_marks(
    spark: SparkSession, tmp_path: Path, line: bytes
) -> None:
    """And after the last record, too, where nothing is missing that would show it."""
    whole = lines_of(records_of_a_boot("ns", BOOT, 3, 5))
    path = tmp_path / "ns-0a1b2c3d-1-1-5.jsonl.gz"
    path.write_bytes(gzip.compress(whole + line, 1))
    small = records_of(spark, [str(path)]).select(REASON, "kind").collect()
    assert [row[REASON] is None for row in small] == [True] * whole.count(b"\n") + [False]
    large = records_of(spark, [str(path)], all_readable=True).select(REASON, "kind")
    if small[-1][REASON] == "unreadable":
        with pytest.raises(Exception, match="MALFORMED_RECORD") as raised:
            large.collect()
        assert is_unreadable(raised.value)
    else:
        assert large.collect() == small


def sealed_line(record: Record) -> bytes:
    """A record as a server writes it."""
    return with_checksum(json.dumps(record, separators=(",", ":")).encode())


def test_each_altered_bit_of_a_line_is_seen_as_the_server_sees_it(spark: SparkSession) -> None:
    key_at_the_end = {"kind": "kv", "namespace": "n", "key": "12345678"}
    lines = [
        sealed_line(key_at_the_end)[:-1],
        json.dumps(key_at_the_end, separators=(",", ":")).encode(),
        b"",
        b"{}",
    ]
    for position in range(len(lines[0]) * 8):
        altered = bytearray(lines[0])
        altered[position // 8] ^= 1 << position % 8
        lines.append(bytes(altered))
    rows_of_lines = spark.createDataFrame([(line,) for line in lines], "data binary")
    found = rows_of_lines.selectExpr("cast(data AS string) AS line").selectExpr(
        f"{damage_of('line')} AS damage"
    )
    wanted = {Checksum.RIGHT: {None}, Checksum.WRONG: {"altered"}, Checksum.ABSENT: {None, "unreadable"}}
    for line, row in zip(lines, found.collect(), strict=True):
        assert row.damage in wanted[check_line(line)], line
    assert sum(check_line(line) is Checksum.WRONG for line in lines) > len(lines) * 9 // 10


@pytest.mark.parametrize("large_bytes", [pytest.param(1, marks=pytest.mark.long), batch.LARGE_BYTES])
def test_no_altered_record_gets_into_the_facts_and_what_is_missing_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int
) -> None:
    """One bit of each of many segments is altered; gzip sees it in a large batch, the checksums in a small one."""
    monkeypatch.setattr(batch, "LARGE_BYTES", large_bytes)
    rng = random.Random(large_bytes)
    every = boots(80, changes=3)
    wanted = {
        name: set(found)
        for name, found in expected_facts([record for boot in every for record in boot], UUID8).items()
    }
    (tmp_path / "j").mkdir()
    for number, boot in enumerate(every):
        ending = ".jsonl" if number % 4 == 0 else ".jsonl.gz"
        data = b"".join(map(sealed_line, boot))
        data = bytearray(data if ending == ".jsonl" else gzip.compress(data))
        position = rng.randrange(len(data) * 8)
        data[position // 8] ^= 1 << position % 8
        (tmp_path / "j" / segment_name(boot, ending=ending)).write_bytes(data)
    outcome = run(spark, tmp_path / "w", tmp_path / "j")
    found = written(tmp_path / "w")
    assert [name for name in TABLES if not set(found[name]) <= wanted[name]] == []
    lost = {loss.segment.file for load in outcome.loads for loss in load.losses}
    whole = [boot for boot in every if not lost & {segment_name(boot), segment_name(boot, ending=".jsonl")}]
    expected = expected_facts([record for boot in whole for record in boot], UUID8)["events"]
    assert set(expected) <= set(found["events"])
    assert len(lost) > len(every) * 3 // 4


def test_a_row_knows_the_segment_that_it_was_read_from_whatever_the_length_of_its_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    end = "1772323200000-000000000001-000000000001.jsonl"
    names = [
        f"{namesrv}-{uuid8}-{end}{form}"
        for namesrv in ("a", "b-a", "10.0.0.1_9876", "10.0.0.11_9876")
        for uuid8, form in (("0a1b2c3d", ""), ("89abcdef", ".gz"))
    ]
    paths = [tmp_path / f"folder {number}" / name for number, name in enumerate(names)]
    for path in paths:
        path.parent.mkdir()
        line = b'{"host":"%s"}\n' % path.name.encode()
        path.write_bytes(gzip.compress(line) if path.suffix == ".gz" else line)
    there = [str(path) for path in paths]
    columns = [column.alias(name) for name, column in columns_of_segments(there).items()]
    read = records_of(spark, there).select("host", *columns).collect()
    wanted = [(name, name, "89abcdef" if name.endswith(".gz") else "0a1b2c3d") for name in names]
    assert sorted(map(tuple, read)) == sorted(wanted)


@pytest.mark.parametrize("large_bytes", [1, pytest.param(batch.LARGE_BYTES, marks=pytest.mark.long)])
def test_what_cannot_be_read_is_set_aside_and_healed_by_a_whole_copy(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int
) -> None:
    monkeypatch.setattr(batch, "LARGE_BYTES", large_bytes)
    journal, copies = tmp_path / "j", tmp_path / "copies"
    every = boots(8, changes=20)
    for boot in every:
        write_segment(copies, boot)
    damage = random.Random(7)
    # Each of the bad lines stands in the place of a record of the first boot ...
    bad = lines_of(every[0]).splitlines(keepends=True)
    places = damage.sample(range(3, len(bad)), len(BAD_LINES))
    for place, line in zip(places, BAD_LINES.values(), strict=True):
        bad[place] = line + b"\n"
    (journal / "x").mkdir(parents=True)
    (journal / segment_name(every[0])).write_bytes(gzip.compress(b"".join(bad), 1))
    # ... the second is cut off inside its compressed data, the third as plain text, inside a line ...
    packed = gzip.compress(lines_of(every[1]))
    (journal / segment_name(every[1])).write_bytes(packed[: len(packed) * 2 // 3])
    (journal / segment_name(every[2], ending=".jsonl")).write_bytes(lines_of(every[2])[:-30])
    # ... the fourth is no gzip at all, the fifth empty, and one that nobody sealed is not looked at.
    (journal / segment_name(every[3])).write_bytes(b"garbage")
    (journal / segment_name(every[4], ending=".jsonl")).write_bytes(b"")
    (journal / "ns-9-0a1b2c3d-1772323200000-000000000001.jsonl.open").write_bytes(b"{")
    # ... the sixth was made to stop a run: neither its blank lines nor its records are read.
    hostile = b"\n" * 100_001 + lines_of(every[5])
    (journal / segment_name(every[5])).write_bytes(gzip.compress(hostile))
    for boot in every[6:]:
        write_segment(journal, boot)

    outcome = run(spark, tmp_path / "w", journal)
    names = {loss.segment.namesrv for loss in outcome.loads[0].losses}
    assert names == {"ns-0", "ns-1", "ns-2"}
    assert len(outcome.loads[0].losses) == 6
    aside = rows(spark, tmp_path / "w", QUARANTINE.name)
    lines = [row for row in aside if row["file"] == segment_name(every[0]) and row["line"] is not None]
    assert len(lines) == len(BAD_LINES)
    assert {row["reason"] for row in lines} == {"unreadable", "malformed", "unknown_version"}
    assert max(row["length"] for row in lines) > 25_000_000
    assert max(len(row["line"]) for row in lines) == 65_536
    (refused,) = (row for row in aside if row["file"] == segment_name(every[5]))
    assert refused["reason"] == "incomplete_segment"
    assert "more than 100,000 lines have fewer than 48 bytes, so nothing of it is read" in refused["detail"]
    tomorrow = next(row for row in lines if "colour" in row["line"])
    assert (tomorrow["reason"], tomorrow["namesrv"], tomorrow["boot"]) == ("unknown_version", "ns-0", BOOT)
    left = [
        json.loads(line)
        for number, line in enumerate(lines_of(every[0]).splitlines())
        if number not in places
    ]
    of_first = [row for row in written(tmp_path / "w")["events"] if json.loads(row)["namesrv"] == "ns-0"]
    assert of_first == [
        row for row in expected_facts([*left], UUID8)["events"] if json.loads(row)["boot"] == BOOT
    ] + [row for row in of_first if json.loads(row)["boot"] != BOOT]

    assert run(spark, tmp_path / "w", journal).loads == [], "what is damaged is not read again and again"
    healed = run(spark, tmp_path / "w", journal, copies)
    assert all(load.losses == [] for load in healed.loads)
    assert written(tmp_path / "w") == expected_facts([record for boot in every for record in boot], UUID8)


@pytest.mark.parametrize("large_bytes", [1, batch.LARGE_BYTES])
def test_records_under_the_name_of_another_name_server_are_not_taken_and_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int
) -> None:
    monkeypatch.setattr(batch, "LARGE_BYTES", large_bytes)
    boot, other = boots(4)[::2]
    write_segment(tmp_path / "j", other)
    forged = write_segment(tmp_path / "j", boot)
    forged.rename(forged.with_name(forged.name.replace("ns-0", "forged")))
    outcome = run(spark, tmp_path / "w", tmp_path / "j")
    assert written(tmp_path / "w") == expected_facts(other, UUID8)
    (loss,) = outcome.loads[0].losses
    assert loss.segment.namesrv == "forged"
    assert f"{len(boot)} records are missing: {len(boot)} records are of another name server" in loss.detail
    (row,) = rows(spark, tmp_path / "w", QUARANTINE.name)
    assert (row["namesrv"], row["reason"]) == ("forged", "incomplete_segment")
    write_segment(tmp_path / "j", boot)
    run(spark, tmp_path / "w", tmp_path / "j")
    assert written(tmp_path / "w") == expected_facts([*boot, *other], UUID8)


def test_no_flipped_bit_of_a_warehouse_is_taken_for_well(spark: SparkSession, tmp_path: Path) -> None:
    """One bit of a file whose checksum is in the newest manifest, or of the manifest, hundreds of times."""
    for boot in boots(4):
        write_segment(tmp_path / "j", boot)
    run(spark, tmp_path / "w", tmp_path / "j")
    warehouse = open_folder(str(tmp_path / "w"))
    assert check_files(warehouse) == []
    manifest = newest_manifest(warehouse)
    assert manifest is not None
    paths = {part.path for parts in manifest.tables.values() for part in parts}
    files = sorted(paths | {manifest.ledger, path_of(manifest.number)})
    rng = random.Random(19)
    for number in range(400):
        path = tmp_path / "w" / files[number % len(files)]
        whole = path.read_bytes()
        altered = bytearray(whole)
        altered[rng.randrange(len(whole) - 1)] ^= 1 << rng.randrange(8)
        path.write_bytes(altered)
        try:
            assert check_files(warehouse), path
        except WarehouseError:
            assert files[number % len(files)] == path_of(manifest.number)
        path.write_bytes(whole)
    assert check_files(warehouse) == []
