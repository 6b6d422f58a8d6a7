"""What an observer says of itself: reasons, metrics, and lines about journals that can't be written."""

from pathlib import Path

from msgspec import structs

from namekeeper.observe.journal import JournalStatus
from namekeeper.observe.log_file import LogStatus
from namekeeper.observe.observer import ObserverState, ObserverStatus
from namekeeper.observe.reporting import ObserverCollector, TroubleLines, reasons_of
from namekeeper.observe.schedule import Windows

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "observe.md"
FULL = "j/ns: No space left on device"
OBSERVED = ObserverStatus(
    addr="a:1", state=ObserverState.OBSERVED, reason="", answered_at=1, restart="possible", brokers=2, topics=3,
    unread=0, windows=Windows(6_000, 9_000, 65_000, 1, 1), requests=7, cost_us=9, refused={},
    journal=JournalStatus(folder="j/ns", boot=1, last_seq=9, trouble="", dropped_records=0),
)  # fmt: skip
FAILS = structs.replace(OBSERVED, journal=structs.replace(OBSERVED.journal, trouble=FULL))
STARTS = structs.replace(OBSERVED, state=ObserverState.CONNECTING, journal=None)
GONE = structs.replace(STARTS, state=ObserverState.NOT_OBSERVED, reason="no answer")


def samples(statuses) -> dict[tuple[str, str], float]:
    return {
        (sample.name.removeprefix("namekeeper_observe_"), "".join(sample.labels.values())): sample.value
        for family in ObserverCollector(statuses).collect()
        for sample in family.samples
    }


def test_what_is_not_known_and_not_recorded_is_a_reason():
    assert reasons_of({"a": OBSERVED, "b": STARTS}, {}, {}) == {}
    assert reasons_of(
        {"a": FAILS, "b": GONE}, {"ns": "ns: Name or service not known"}, {"shadow": "it starts"}
    ) == {
        "recording": f"a: {FULL}",
        "observed": "b: not observed: no answer",
        "discovery": "ns: Name or service not known",
        "shadow": "shadow: it starts",
    }


def test_a_sweep_that_takes_longer_than_stated_is_a_reason():
    late = structs.replace(OBSERVED, oldest_ms=125_004)
    assert reasons_of({"a": OBSERVED, "b": late}, {}, {}) == {
        "sweep": "b: queues of a topic were last read 2 min 5 s ago, and the longest window is 1 min 5 s"
    }
    assert samples({"a": OBSERVED, "b": late})["oldest_queues_seconds", ""] == 125.004


def test_of_many_name_servers_three_are_named():
    found = reasons_of({f"n{number}": GONE for number in range(9)}, {}, {})["observed"]
    assert found.count("no answer") == 3
    assert found.endswith("; and 6 more")


def test_name_servers_are_counted_by_state_and_no_label_has_their_names():
    found = samples({"a": FAILS, "b": GONE, "c": OBSERVED})
    assert found["name_servers", "observed"] == 2
    assert found["name_servers", "not_observed"] == 1
    assert found["not_recording", ""] == 1
    assert found["window_seconds", "queues"] == 65
    assert samples({}).keys() == found.keys()


def test_a_disk_that_is_full_is_said_once_and_when_it_is_not_any_more():
    lines = TroubleLines()
    assert lines.of({"a": OBSERVED}) == []
    assert lines.of({"a": FAILS}) == [f"a: not recording: {FULL}"]
    assert lines.of({"a": FAILS}) == []
    assert lines.of({"a": OBSERVED}) == ["a: recording again"]
    assert lines.of({"a": OBSERVED}) == []


def test_a_log_that_can_not_be_read_is_said_once_and_when_it_can_be_again():
    missing = LogStatus("/x.log", "/x.log: No such file or directory", 0, 0)
    without = structs.replace(OBSERVED, log=missing)
    again = structs.replace(OBSERVED, log=structs.replace(missing, trouble=""))
    lines = TroubleLines()
    assert lines.of({"a": again}) == []
    assert lines.of({"a": without}) == ["a: not reading causes: /x.log: No such file or directory"]
    assert lines.of({"a": without}) == []
    assert lines.of({"a": again}) == ["a: reading causes again"]
    assert lines.of({"a": again}) == []


def test_each_metric_has_a_row_in_the_documents():
    rows = [line for line in REFERENCE.read_text().splitlines() if line.startswith("| `namekeeper_observe_")]
    assert {row.split("`")[1] for row in rows} == {each.name for each in ObserverCollector({}).collect()}
