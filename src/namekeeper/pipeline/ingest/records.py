"""Lines of segments as typed rows, and why a line is rejected."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.common.durations import LATEST_MS
from namekeeper.pipeline.contract import ENVELOPE, KINDS, UNITS, VERSION, Member, read_schema
from namekeeper.pipeline.ingest.checksum import damage_of
from namekeeper.pipeline.ingest.segment_lines import LINE_BYTES
from namekeeper.pipeline.ingest.segments import END_LENGTH

__all__ = [
    "FILE",
    "OTHER",
    "PARTITION",
    "REASON",
    "REJECTED",
    "columns_of_segments",
    "is_unreadable",
    "lines_of",
    "parted_records",
    "partition_of_kind",
    "record_columns",
    "records_of",
    "rejected",
]

FILE = "file"
"""Column with the name of the segment that a row was read from."""
REASON = "_reason"
"""Column with the reason why a line is rejected; null if it is not."""

PARTITION = "_part"
"""Column with the partition of a row: its kind, or one of the names that ingest adds."""
REJECTED = "rejected"
"""Partition of rejected lines."""
OTHER = "other"
"""Partition of kinds that the contract does not have: such records are in `events` only."""

_CORRUPT = "_corrupt"
_DAMAGE = "_damage"
"""Column with the reason why the bytes of a line may be wrong; null if they are right."""
_SCHEMA = f"{read_schema()}, {_CORRUPT} string"
_LINE_SHOWN = 65_536
_PATH = "cast(input_file_name() AS binary)"
"""Path of the file that a row is read from; as bytes, so that a part of it is found without scanning the
rest."""

_MARKING: Mapping[str, str] = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
# Retention may delete a segment between the listing and the reading.
_READING: Mapping[str, str] = {"ignoreMissingFiles": "true"}
# A segment whose compressed data are damaged gives what can be read: checksums and counts of records show it.
_READING_DAMAGED: Mapping[str, str] = {
    **_READING,
    "ignoreCorruptFiles": "true",
    # A longer line is left out: else one of gigabytes, packed into some megabytes, would end every run.
    "mapreduce.input.linerecordreader.line.maxlength": str(LINE_BYTES),
}

_FREQUENT = {"broker_minute", "topic_queues", "lookup_hour", "broker_live"}
_TIMES = [name for name, unit in UNITS.items() if unit == "ms since 1970"]


def record_columns() -> list[str]:
    """Columns that hold the members of a record."""
    names = dict.fromkeys(ENVELOPE)
    for members in KINDS.values():
        names |= dict.fromkeys(members)
    return list(names)


def records_of(spark: SparkSession, paths: Sequence[str], *, all_readable: bool = False) -> DataFrame:
    """A row for each line: the members of the record, and `_reason`.

    Args:
        spark: The session.
        paths: Segments, as Spark reads them.
        all_readable: Whether reading fails (`is_unreadable`) at a file with damaged compressed data and at a
            line that can't be parsed. Then lines are not compared with their checksums: gzip's checksum of
            the whole file is enough, because only right lines are sealed. That takes two thirds of the time.
    """
    if all_readable:
        reader = spark.read.schema(read_schema()).options(
            **_READING, ignoreCorruptFiles="false", mode="FAILFAST"
        )
        return reader.json(list(paths)).withColumn(REASON, fn.expr(_unfit()))
    parsed = fn.expr(_parsed("value")).alias("_record")
    damage = fn.expr(damage_of("value")).alias(_DAMAGE)
    lines = spark.read.options(**_READING_DAMAGED).text(list(paths)).where("length(trim(value)) > 0")
    records = lines.select(parsed, damage).select("_record.*", _DAMAGE)
    return records.withColumn(REASON, fn.expr(_reason())).drop(_CORRUPT, _DAMAGE)


def parted_records(spark: SparkSession, paths: Sequence[str], *, all_readable: bool = False) -> DataFrame:
    """Members of records, and the partition of each; arguments as of `records_of`."""
    records = records_of(spark, paths, all_readable=all_readable)
    part = fn.when(fn.col(REASON).isNotNull(), fn.lit(REJECTED)).otherwise(partition_of_kind())
    return records.select(*record_columns(), part.alias(PARTITION))


def partition_of_kind() -> Column:
    """The partition of a record, by its kind."""
    return fn.when(fn.col("kind").isin(*KINDS), fn.col("kind")).otherwise(fn.lit(OTHER))


def columns_of_segments(paths: Sequence[str]) -> Mapping[str, Column]:
    """Columns `file` and `uuid8` of rows that are read from some paths.

    Spark can't merge a projection with one below it that has such columns, and each projection copies each
    row. So they are added only where rows are written, together with other columns.
    """
    return {FILE: _segment(paths), "uuid8": _uuid8()}


def is_unreadable(error: Exception) -> bool:
    """Whether an error of Spark's means that a line could not be parsed or a file not be read."""
    return "FAILED_READ_FILE" in str(error)


def lines_of(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The same lines as `records_of`, as text: columns `line` and `file`, blank lines left out."""
    lines = spark.read.options(**_READING_DAMAGED).text(list(paths))
    return lines.select(fn.col("value").alias("line"), _segment(paths).alias(FILE)).where(
        "length(trim(line)) > 0"
    )


def rejected(lines: DataFrame) -> DataFrame:
    """The rejected ones of lines as text: columns `file`, `_reason`, `detail`, `line`, `length`."""
    parsed = _parsed("line")
    # A line may be long. The parsed value as a row would be a copy of it; as an element of a list it is not.
    judgement = f"transform(array({parsed}), r -> struct({_fitness('r.')} AS {REASON}, r.v))[0]"
    of_bytes = f"struct({_DAMAGE} AS {REASON}, CAST(NULL AS bigint) AS v)"
    verdict = fn.expr(f"if({_DAMAGE} IS NULL, {judgement}, {of_bytes})")
    return lines.select("*", fn.expr(damage_of("line")).alias(_DAMAGE)).select(
        FILE,
        verdict.alias("_verdict"),
        # Cut first: otherwise a copy would be as long as the line.
        fn.substring(fn.make_valid_utf8(fn.substring("line", 1, _LINE_SHOWN)), 1, _LINE_SHOWN).alias("line"),
        fn.length("line").cast("bigint").alias("length"),
    ).select(FILE, "_verdict.*", "line", "length").where(f"{REASON} IS NOT NULL").select(
        FILE, REASON, _detail().alias("detail"), "line", "length"
    )  # fmt: skip


def _segment(paths: Sequence[str]) -> Column:
    """Name of the file that a row is read from, one of the given paths."""
    # It is cut out at its fixed begin: a search for the last slash takes a sixth of the time of the parsing.
    # `_metadata.file_name` has the same value, but Spark copies each row for it.
    *shorter, longest = sorted({len(path.rpartition("/")[2]) for path in paths})
    name = f"substring({_PATH}, -{longest})"
    for length in reversed(shorter):
        name = f"if(substring({_PATH}, -{length + 1}, 1) = X'2F', substring({_PATH}, -{length}), {name})"
    return fn.expr(name).cast("string")


def _uuid8() -> Column:
    """The digits of the UUID in that name; the part after them has a fixed length."""
    begin = f"if(substring({_PATH}, -3) = X'2E677A', -3, 0) - {END_LENGTH - 1}"
    return fn.expr(f"substring({_PATH}, {begin}, 8)").cast("string")


def _parsed(line: str) -> str:
    options = ", ".join(f"'{name}', '{value}'" for name, value in _MARKING.items())
    return f"from_json({line}, '{_SCHEMA}', map({options}))"


def _detail() -> Column:
    return fn.expr(
        f"CASE {REASON}"
        " WHEN 'unreadable' THEN 'not a JSON object, or a member has another type than the contract says'"
        " WHEN 'altered' THEN 'its checksum is not that of its bytes'"
        " WHEN 'unknown_version' THEN concat('version ', coalesce(cast(v AS string), 'missing'), ' of the"
        f" contract; this Namekeeper reads {VERSION}. A newer one takes it when it reads the segment again')"
        " ELSE 'a member is missing, or is out of its range' END"
    )


def _reason() -> str:
    """SQL for the reason why a line is rejected; null if it is not."""
    return f"coalesce({_DAMAGE}, {_fitness()})"


def _fitness(of: str = "") -> str:
    """SQL for the reason why a parsed line is rejected; null if it is not.

    Args:
        of: The prefix of the name of a member.
    """
    return f"CASE WHEN {of}{_CORRUPT} IS NOT NULL THEN 'unreadable' ELSE {_unfit(of)} END"


def _unfit(of: str = "") -> str:
    """SQL for the reason why a line that could be parsed is rejected; null if it is not."""
    return (
        f"CASE WHEN {of}v IS NULL OR {of}v <> {VERSION} THEN 'unknown_version'"
        f" WHEN {' OR '.join(_malformed(of))} THEN 'malformed' END"
    )


def _malformed(of: str) -> Iterator[str]:
    """SQL conditions under which a parsed record is rejected."""
    yield from _missing(ENVELOPE, of)
    for name in ("seq", "change", "boot"):
        yield f"{of}{name} < 1"
    yield f"{of}window_ms NOT BETWEEN 0 AND {of}ts"
    yield f"{of}change > {of}seq OR {of}up_ms < 0 OR {of}checkpoint NOT BETWEEN 1 AND {of}seq"
    for name in ("boot", *_TIMES):
        yield f"{of}{name} NOT BETWEEN 0 AND {LATEST_MS}"
    # The comparisons are made one after the other for each row, so the most frequent kinds come first.
    kinds = sorted(KINDS, key=lambda kind: kind not in _FREQUENT)
    cases = ((kind, [*_missing(KINDS[kind], of), *_misshapen(KINDS[kind], of)]) for kind in kinds)
    whens = " ".join(f"WHEN '{kind}' THEN {' OR '.join(wrong)}" for kind, wrong in cases if wrong)
    yield f"CASE {of}kind {whens} ELSE false END"


def _missing(members: Mapping[str, Member], of: str) -> Iterator[str]:
    return (f"{of}`{name}` IS NULL" for name, member in members.items() if member.required)


def _misshapen(members: Mapping[str, Member], of: str) -> Iterator[str]:
    """SQL conditions under which rows of text contradict the contract."""
    for name, member in members.items():
        if member.rows and member.type.startswith("array"):
            size, first = len(member.rows), "row IS NULL OR get(row, 0) IS NULL"
            # Spelled out, because it is checked for each topic of a checkpoint, and a list of the numbers
            # would be slow.
            numbers = " OR ".join(
                f"try_cast(get(row, {at}) AS {each.sql_type}) IS NULL"
                for at, each in enumerate(member.rows.values())
                if each.unit
            )
            may_be_gone = any(each.null == "gone" for each in member.rows.values())
            wrong = (
                f"size(row) NOT IN (1, {size}) OR (size(row) = {size} AND ({numbers}))"
                if may_be_gone
                else f"size(row) <> {size} OR {numbers}"
            )
            yield f"exists({of}{name}, row -> {first} OR {wrong})"
