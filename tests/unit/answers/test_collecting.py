"""Evidence has a limit of memory, whatever brokers do; what is left out is said."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import pytest

from namekeeper.answers import collecting
from namekeeper.answers.around import AROUND_MS
from namekeeper.answers.collecting import Collected, collect_evidence
from namekeeper.answers.evidence import DAY_MS, HOUR_MS
from namekeeper.answers.explain import explain
from namekeeper.answers.from_journal import JournalFolder
from namekeeper.answers.source import JournalAnswers
from namekeeper.answers.verdict import Explanation, Verdict
from namekeeper.history.rows import Rows
from namekeeper.journal.contract.activity import Access, UnknownTopicMinute
from namekeeper.journal.contract.record import BrokerLive, Record, ServerStarted, TopicQueues
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Seen, Step, Stopped
from tests.unit.answers.story import Story

MIB = 1024 * 1024
LIMIT = MIB // 5
BEGIN = 1_700_000_000_000
FLAPS = 800
"""Sessions of one broker; they take ten times the limit."""

_STARTED = ServerStarted(uuid="u", server_version="1")


class Journal:
    """Steps of a name server, a millisecond apart."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.steps: list[Step] = [Began(BEGIN, 1, BEGIN, _STARTED),
                                  CheckpointApplied(BEGIN, 2, BEGIN, Rows())]  # fmt: skip

    def comes(self, name: str, addr: str = "", topics: Iterable[str] = ()) -> int:
        live = self._live(name, addr, data_version=(0, self.now, 1))
        rows = (
            [TopicQueues(broker_name=name, rows=[(topic, 8, 8, 6, 0) for topic in topics])] if topics else []
        )
        return self._change("register_broker", live, *rows)

    def goes(self, name: str, addr: str = "", topics: Iterable[str] = ()) -> int:
        live = self._live(name, addr, gone=True, reason="unregister_broker", idle_ms=5)
        rows = [TopicQueues(broker_name=name, rows=[(topic,) for topic in topics])] if topics else []
        return self._change("unregister_broker", live, *rows)

    def flaps(self, name: str, topics: Iterable[str] = (), count: int = FLAPS) -> int:
        for _ in range(count):
            self.comes(name, topics=topics)
            self.goes(name, topics=topics)
        return self.now

    def seen(self, record: Record) -> int:
        self.now += 1
        record.ts = self.now
        self.steps.append(Seen(BEGIN, len(self.steps) + 1, self.now, record))
        return self.now

    def later(self, ms: int) -> int:
        self.now += ms
        return self.now

    def collected(self, at: int | None = None, limit_bytes: int = LIMIT) -> Collected:
        at = self.now if at is None else at
        return collect_evidence("ns", "T", at, lambda: _read(self.steps), limit_bytes)

    def explained(self, at: int | None = None, limit_bytes: int = LIMIT) -> Explanation:
        (found,) = explain([self.collected(at, limit_bytes).evidence], at)
        return found

    def _live(self, name: str, addr: str, **fields: Any) -> BrokerLive:
        addr = addr or f"{name}:10911"
        return BrokerLive(
            cluster="c", broker_addr=addr, broker_name=name, broker_id=0, gen=self.now, **fields
        )

    def _change(self, cause: str, *records: Record) -> int:
        self.now += 1
        for record in records:
            record.cause, record.peer, record.ts = cause, "10.0.0.9:5000", self.now
        self.steps.append(Changed(BEGIN, len(self.steps) + 1, self.now, list(records)))
        return self.now


def _read(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps as a journal gives them: nothing that they hold is shared."""
    for step in steps:
        if isinstance(step, Changed):
            records = [msgspec.json.decode(msgspec.json.encode(one), type=type(one)) for one in step.records]
            yield Changed(step.boot, step.seq, step.ts, records)
        else:
            yield step


@pytest.fixture
def journal() -> Journal:
    journal = Journal()
    journal.comes("b", topics=("T",))
    return journal


def most_bytes(work: Callable[[], object]) -> int:
    """The most memory that a function takes."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("topics", [(), ("T",)])
def test_a_broker_that_comes_and_goes_does_not_fill_the_memory(journal, topics):
    """A question took 4 KB for each session of a broker in the last day: gigabytes, at 100 sessions a second."""
    journal.flaps("flapping", topics)
    assert most_bytes(lambda: journal.collected(limit_bytes=100 * MIB)) > 8 * LIMIT
    assert most_bytes(journal.collected) < 2 * LIMIT


def test_ever_new_brokers_with_the_topic_do_not_fill_the_memory(journal, monkeypatch):
    monkeypatch.setattr(collecting, "BROKER_NAMES_LIMIT", 100)
    for number in range(FLAPS):
        journal.comes(f"new-{number}", topics=("T",))
        journal.goes(f"new-{number}", topics=("T",))
    assert most_bytes(journal.collected) < 2 * LIMIT
    assert journal.explained().verdict is Verdict.HAS_ROUTE


def test_brokers_without_the_topic_hide_no_cause(journal):
    gone = journal.goes("b", topics=("T",))
    journal.flaps("flapping")
    found = journal.collected()
    (explanation,) = explain([found.evidence], journal.now)
    assert (explanation.verdict, explanation.facts[0].at) == (Verdict.BROKER_GONE, gone)
    assert {session.broker_name for session in found.evidence.sessions} == {"b"}
    assert found.notes == [
        "there are too many sessions of brokers: only those of brokers that had the topic count"
    ]
    assert found.evidence.known_from == BEGIN


def test_what_comes_later_than_the_answer_needs_leaves_nothing_out(journal):
    gone = journal.goes("b", topics=("T",))
    journal.comes("other")
    journal.later(AROUND_MS + 1)
    journal.flaps("flapping")
    found = journal.collected(gone)
    assert (found.notes, found.evidence.only_its_brokers) == ([], False)
    assert {session.broker_name for session in found.evidence.sessions} >= {"b", "other"}
    assert found.evidence.knows_up_to == journal.now
    assert explain([found.evidence], gone) == explain([journal.collected(gone, 100 * MIB).evidence], gone)


def test_the_time_in_question_is_known_among_too_many_changes(journal):
    """The changes nearest to it are kept, on both sides."""
    at = journal.flaps("flapping", ("T",))
    journal.goes("b", topics=("T",))
    journal.flaps("flapping", ("T",))
    found = journal.collected(at)
    assert [route.broker_name for route in found.evidence.routes_at(at)] == ["b"]
    assert found.evidence.period_at(at).state == "up"
    assert BEGIN < found.evidence.known_from == found.evidence.dropped_until < at
    assert found.evidence.periods[0].valid_from == found.evidence.known_from
    assert found.evidence.period_at(found.evidence.known_from - 1) is None
    ends = [route.valid_to for route in found.evidence.routes if route.has_ended(journal.now)]
    assert min(ends) < at < max(ends)
    _, before, after = found.notes
    assert before.startswith("there are too many changes: those up to 2023-11-14 22:13:")
    assert after.startswith("there are too many changes: those after 2023-11-14 22:13:")
    assert (before[-9:], after[-9:]) == (" left out", " left out")


def test_a_cause_that_was_dropped_is_unknown_and_not_never_registered(journal):
    journal.goes("b", topics=("T",))
    journal.flaps("b")
    found = journal.explained()
    assert (found.verdict, found.summary) == (
        Verdict.UNKNOWN, "unknown, because there are too many changes to read",
    )  # fmt: skip
    assert found.facts[-1].text == "there are too many changes: those up to here are left out"


def test_another_broker_at_the_same_address_ends_a_session(journal):
    journal.comes("master", "a:1", topics=("T",))
    journal.comes("stranger", "a:1")
    journal.flaps("flapping")
    (before,) = (each for each in journal.collected().evidence.sessions if each.broker_name == "master")
    assert before.ended_by == "changed"


def test_brokers_that_are_not_counted_after_a_start_are_named(journal):
    journal.comes("other")
    journal.flaps("flapping")
    journal.later(1_000)
    journal.steps.append(Stopped(BEGIN, len(journal.steps) + 1, journal.now))
    journal.later(1_000)
    journal.steps.append(Began(journal.now, 1, journal.now, _STARTED))
    journal.steps.append(CheckpointApplied(journal.now, 2, journal.now, Rows()))
    assert "; 0 of 2 known brokers were back" in journal.explained(limit_bytes=100 * MIB).summary
    assert journal.explained().summary.endswith(
        "; 0 of 1 known broker was back, without the brokers that never had the topic"
    )


def test_lookups_and_refused_requests_have_a_limit(journal, monkeypatch):
    monkeypatch.setattr(collecting, "ACTIVITY_LIMIT", 50)
    for number in range(40):
        journal.seen(UnknownTopicMinute(minute=journal.now, topic="T", language="JAVA", count=1))
        journal.seen(UnknownTopicMinute(minute=journal.now, topic="U", language="JAVA", count=1))
        journal.seen(Access(code=103, mode="enforce", about=[f"brokers={number}"], count=1))
        journal.seen(Access(code=103, mode="enforce", allowed=True, count=1))
    found = journal.collected()
    assert len(found.evidence.lookups) + len(found.evidence.refused) in range(45, 51)
    assert found.evidence.refused[-1].about == ["brokers=39"]
    assert found.notes == [
        "there are too many refused requests and lookups without a route: the newest ones count"
    ]


def test_lookups_and_refused_requests_long_before_or_after_do_not_count(journal):
    def count() -> int:
        evidence = journal.collected(at).evidence
        return len(evidence.lookups) + len(evidence.refused)

    def both() -> None:
        journal.seen(UnknownTopicMinute(minute=journal.now, topic="T", language="JAVA", count=1))
        journal.seen(Access(code=103, mode="enforce", count=1))

    both()
    journal.later(HOUR_MS)
    both()
    at = journal.now
    journal.later(AROUND_MS + 1)
    both()
    assert count() == 2


def test_a_limit_holds_for_a_journal_and_is_said(tmp_path):
    story = Story()
    story.registers("b0", topics=("T",))
    gone = story.unregisters()
    for _ in range(200):
        story.registers("flapping", "a9:1", topics=())
        story.unregisters("a9:1")
    folder = story.folder(tmp_path, per_segment=100)
    source = JournalAnswers([folder], limit_bytes=100_000)
    (explanation,) = explain(source.evidence("T", None))
    assert (explanation.verdict, explanation.facts[0].at) == (Verdict.BROKER_GONE, gone)
    assert source.notes == [
        f"{folder}: there are too many sessions of brokers: only those of brokers that had the topic count"
    ]
    whole = JournalAnswers([folder])
    assert explain(whole.evidence("T", None)) == [explanation]
    assert whole.notes == []


def test_nothing_earlier_is_read_if_changes_were_dropped(tmp_path):
    """They would be dropped again."""
    story = Story()
    story.registers("b0", topics=("T",))
    story.later(2 * DAY_MS)
    story.alive()
    story.journal.begin_checkpoint("interval")
    story.journal.go_on_with_checkpoint(1_000)
    story.unregisters()
    for _ in range(200):
        story.registers("b0", topics=())
        story.unregisters()
    read = []
    journal = JournalFolder(
        story.folder(tmp_path, per_segment=2), lambda done, _: read.append(done), limit_bytes=50_000
    )
    assert journal.evidence("T", None).dropped_until is not None
    assert read.count(0) == 2
