"""The tables of docs/discussion/denial-of-service.md that name constants agree with the code.

To add a limit, add a row to a table whose last column is `constant`: `module.NAME` below `namekeeper`, and in the
second column the value as `shown_as` writes it. Nothing needs to change here, but for a module all of whose limits
are to be in a table: it goes into `COMPLETE`. A number in such a module that limits nothing goes into `NO_LIMITS`.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = Path("docs/discussion/denial-of-service.md").read_text()
COMPLETE = (
    "http/*.py", "console/*.py", "history/sources/*.py",  # the HTTP port and the page
    "answers/collecting.py", "answers/from_journal.py",
    "app/watching.py", "app/lookup_memory.py", "processor/recent_changes.py",  # watchers
    "app/notifier.py", "app/cluster_test.py", "remoting/resolving.py", "remoting/client_connection.py",  # notifications
    "wire/rocketmq_header.py", "app/lists.py",  # requests
    "files.py", "foreign_json.py", "nsaddr.py", "app/access_files.py", "remoting/asking_pages.py",  # readers
    "cli/remote_journal.py", "journal/contract/blocks.py", "journal/contract/lines.py",
    "journal/contract/complete_changes.py", "journal/reading/*.py", "pipeline/files/*.py",
    "pipeline/ingest/segment_lines.py",
)  # fmt: skip
"""Modules all of whose limits are in a table."""
NO_LIMITS = {
    "the size of an answer, which a store decides": "pipeline.files.object_store.LISTED_AT_ONCE",
    "an interval at which something is repeated": """
        http.watch.POLL_SECONDS http.watch.BEAT_SECONDS console.reading.POLL_SECONDS console.reading.BEGIN_SECONDS
        console.reading.AFTER_A_BUG_SECONDS console.companion.AFTER_A_BUG_SECONDS console.companion.LOOK_SECONDS
        console.watching.POLL_SECONDS console.server.OPENING_SECONDS console.server.PAUSE_SECONDS console.server.BEAT_SECONDS
        history.sources.journal._LOOK_MS history.sources.journal._ANSWERS_MS
        console.incident_watch.AGAIN_MS console.incident_watch.REREAD_MS history.sources.running._ASK_MS history.sources.running._AGAIN_MS
        history.sources.warehouse._AGAIN_MS
        app.watching.DURABLE_LOOK_SECONDS app.watching.PAUSE_SECONDS app.cluster_test.REFRESH_MS
        app.cluster_test.RETRY_MS app.access_files.POLL_SECONDS nsaddr.REFRESH_SECONDS nsaddr.RETRY_SECONDS""",
    "work of our own between two pauses": """
        console.histories._STEPS_AT_ONCE console.histories._RECORDS_AT_ONCE
        journal.reading.recent.RECORDS_AT_ONCE processor.recent_changes.SLICE_TOPICS
        remoting.asking_pages.TURNS_LIMIT pipeline.files.arrow_folder._CHUNK pipeline.files.local_folder._CHUNK""",
    "a size that our own writer chooses": """
        journal.contract.blocks.BLOCK_BYTES journal.contract.blocks.MOST_BYTES
        journal.contract.blocks.COMPRESSION_LEVEL""",
    "an estimate of sizes that other limits add up": """
        app.lookup_memory.LOOKUP_BYTES app.lookup_memory.CONNECTION_BYTES processor.recent_changes.TOPIC_BYTES
        processor.recent_changes.WEIGHED
        journal.reading.recent.PACKED_RATIO""",
    "part of a format": """
        http.gate._HEAD_END_BYTES http.health.OK http.health.UNAVAILABLE journal.contract.blocks._RAW
        journal.contract.blocks._GZIP journal.contract.blocks._VERSION journal.reading.block_check._TRAILER_BYTES
        journal.contract.lines.SHORT_BYTES pipeline.ingest.segment_lines.SHORT_BYTES
        app.cluster_test._LEGACY_VERSION nsaddr.DEFAULT_PORT files._NEW_FILE_MODE files._NEW_FOLDER_MODE
        app.access_files.FORBIDDEN_MODE app.watching.THIS_BOOT history.sources.snapshots._BOOT""",
    "what a word means to a reader": """
        wire.rocketmq_header._NO_LANGUAGE console.present_incidents.LONG_AGO_MS
        console.broker_sessions.HOUR_MS console.broker_sessions.FLAPS_FROM history.sources.journal.QUIET_MS
        remoting.client_connection.SILENCE_SECONDS""",
}
"""Reason -> numbers of these modules that limit nothing that a peer can make grow."""
SOURCE = Path("src/namekeeper")
CONSTANTS = r"^(_?[A-Z][A-Z0-9_]*(?:, _?[A-Z][A-Z0-9_]*)*)(?:: [^=\n]+)? = "
KIB, MIB = 1_024, 1_024 * 1_024


def rows() -> dict[str, str]:
    """Constant -> its limit, of all tables that have both columns."""
    found = re.findall(r"^\| [^|]+ \| ([^|]+) \| [^|]*\| `([\w.]+)` \|$", TEXT, re.MULTILINE)
    return {constant: limit.strip() for limit, constant in found}


def shown_as(name: str, value: float) -> str:
    """A value with its unit, which the name says."""
    if name.endswith("_MS"):
        return f"{value / 1_000:g} s"
    if name.endswith("_SECONDS"):
        return f"{value:g} s"
    if "BYTES" in name and value >= MIB:
        return f"{value // MIB:,} MiB"
    if "BYTES" in name and value >= KIB:
        return f"{value // KIB:,} KiB"
    return f"{value:,}"


def value_of(constant: str) -> float:
    module, _, name = constant.rpartition(".")
    value = getattr(import_module(f"namekeeper.{module}"), name)
    assert isinstance(value, int | float)
    return value


def test_tables_have_the_values_that_the_code_has() -> None:
    assert rows() == {constant: shown_as(constant, value_of(constant)) for constant in rows()}


def modules(pattern: str) -> list[Path]:
    """The files of a pattern; there is at least one."""
    found = sorted(SOURCE.glob(pattern))
    assert found, pattern
    return found


def numbers_of(file: Path) -> set[str]:
    """The constants of a module that are numbers."""
    module = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
    lines = re.findall(CONSTANTS, file.read_text(), re.MULTILINE)
    names = {name for line in lines for name in line.split(", ")}
    members = vars(import_module(f"namekeeper.{module}"))
    return {f"{module}.{name}" for name in names if type(members[name]) in (int, float)}


@pytest.mark.parametrize("pattern", COMPLETE)
def test_every_limit_is_in_a_table(pattern: str) -> None:
    found = set().union(*map(numbers_of, modules(pattern)))
    assert found - rows().keys() - set(" ".join(NO_LIMITS.values()).split()) == set()


def test_a_number_that_limits_nothing_is_there_and_in_no_table() -> None:
    found = set().union(*(numbers_of(file) for pattern in COMPLETE for file in modules(pattern)))
    assert set(" ".join(NO_LIMITS.values()).split()) <= found - rows().keys()


def test_a_new_limit_is_found_however_it_is_written() -> None:
    text = "A_LIMIT = 5\n_B_BYTES: Final = 6 << 20\nC, _D_2 = 1, 2.5\nE_LIMITS = (1, 2)\n    F = 3\nG == 4\n"
    assert re.findall(CONSTANTS, text, re.MULTILINE) == ["A_LIMIT", "_B_BYTES", "C, _D_2", "E_LIMITS"]


def test_values_are_shown_with_their_units() -> None:
    shown = [
        shown_as("A_LIMIT", 20_000), shown_as("A_SECONDS", 0.5), shown_as("A_MS", 30_000), shown_as("A_BYTES", 64 * KIB),
        shown_as("A_BYTES", 512), shown_as("BYTES_LIMIT", 3 * MIB),
    ]  # fmt: skip
    assert shown == ["20,000", "0.5 s", "30 s", "64 KiB", "512", "3 MiB"]
