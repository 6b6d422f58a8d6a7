"""`why` in the law (docs/decisions/0013): its verdict and its evidence agree with what the server held.

At any instant of any history, with losses and kills. What each verdict claims is a plain table here.
"""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from msgspec import json

from namekeeper.answers.around import AROUND_MS
from namekeeper.answers.collecting import Collected, collect_evidence
from namekeeper.answers.evidence import Evidence
from namekeeper.answers.evidence import evidence_of as evidence_in
from namekeeper.answers.explain import explain
from namekeeper.answers.phrases import ENDS, queues
from namekeeper.answers.route import route_of
from namekeeper.answers.verdict import Explanation, Verdict
from namekeeper.client.queues.route_queues import topic_publish_info
from namekeeper.history.rows import Rows
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.history import steps
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import TOPICS, random_history
from tests.property.journalled import JournalledServer, Position, Written, losses, unknown
from tests.property.known import JournalOracle, read
from tests.property.live_law import small_pieces
from tests.property.test_journal_law import LAW, chances
from tests.support.journal.folder import read_records
from tests.support.journal.history import history_of

WRITE = 2

NOT_KNOWN = {
    Knowledge.NOT_YET: Verdict.NOT_YET,
    Knowledge.BEFORE: Verdict.BEFORE,
    Knowledge.UNKNOWN: Verdict.UNKNOWN,
    Knowledge.STOPPED: Verdict.STOPPED,
}


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """What takes turns and comes in pieces with thousands of topics does so with four."""
    with small_pieces():
        yield


class Truth:
    """What the server held of one topic, by position; only positions whose records are on disk."""

    def __init__(self, server: JournalledServer, topic: str) -> None:
        self.known = JournalOracle(server)
        self._topic = topic
        self._server = server
        self._lost = unknown(server)
        self._lines = [each for each in server.written if not each.checkpoint]
        self._ends = [(each.boot, each.seq) for each in self._lines if each.is_end and each.seq > 1]
        says = {(each.boot, each.change) for each in self._lines if _has_row(each, topic)}
        self._said = {(e.boot, e.seq) for e in self._lines if e.is_end and (e.boot, e.change) in says}

    def rows(self, position: Position) -> dict[str, tuple[int, ...]]:
        """Broker name -> read queues, write queues, permission, flag."""
        return self._server.truth[position]["topics"].get(self._topic, {})

    def masters(self, position: Position) -> set[str]:
        live = self._server.truth[position]["live"].values()
        return {name for name, broker_id, *_ in live if broker_id == 0}

    def can_be_written(self, position: Position) -> bool:
        masters = self.masters(position)
        return any(
            row[2] & WRITE and row[1] > 0 and name in masters for name, row in self.rows(position).items()
        )

    def last_held(self, position: Position) -> list[Position]:
        """The last positions up to this one at which the topic was there.

        Of all, of those that are known, and of those that records say although what they began with was lost. Before
        the first whole checkpoint every one counts: what is lost there does not show.
        """
        held = [each for each in self._ends if each <= position and self.rows(each)]
        known = [each for each in held if self.is_known(each)]
        said = [each for each in held if each in self._said]
        first = [each for each in held if each < self.known.whole[0]]
        return [*held[-1:], *known[-1:], *said[-1:], *first]

    def was_there(self, position: Position) -> bool:
        """Whether there is a position up to this one with a known state in which the topic was there."""
        return any(each <= position and self.is_known(each) and bool(self.rows(each)) for each in self._ends)

    def is_known(self, position: Position) -> bool:
        whole = self.known.whole
        lost = any(a < position and (b is None or position < b) for a, b in self._lost)
        return bool(whole) and position >= whole[0] and not lost

    def is_lost_between(self, one: Position, other: Position) -> bool:
        return any(one <= since < other for since in losses(self._server))

    def causes_after(self, position: Position) -> set[str]:
        """The causes of the records at the time of the first record after a position.

        Evidence has times, not positions. Of two rows that ended in one millisecond either may count as the last.
        """
        after = [each for each in self._lines if (each.boot, each.seq) > position]
        at = [(each.boot, each.ts) for each in after[:1]]
        return {_cause(each) for each in self._lines if (each.boot, each.ts) in at}


def _cause(line: Written) -> str:
    return json.decode(line.line).get("cause", "")


def _has_row(line: Written, topic: str) -> bool:
    """Whether a record says that a broker name has the topic."""
    fields = json.decode(line.line)
    rows = fields["rows"] if fields["kind"] == "topic_queues" else []
    return any(name == topic and queues for name, *queues in rows)


def check_verdict(truth: Truth, evidence: Evidence, found: Explanation, at: int) -> Verdict:
    knowledge, position = truth.known.knowledge(at), truth.known.position(at)
    if knowledge is not Knowledge.KNOWN:
        assert found.verdict is NOT_KNOWN[knowledge]
        return found.verdict
    if position[1] <= 1:
        return found.verdict
    rows = truth.rows(position)
    assert {row.broker_name: (row.read_queue_nums, row.write_queue_nums, row.perm, row.topic_sys_flag)
            for row in evidence.routes_at(at)} == rows  # fmt: skip
    claim = WITH_ROUTE if rows else WITHOUT_ROUTE
    assert found.verdict in claim, (found, rows)
    assert claim[found.verdict](truth, position), (found, rows)
    named = "\n".join(fact.text for fact in found.facts)
    assert all(name in named for name in rows)
    return found.verdict


def _not_writable(truth: Truth, position: Position) -> bool:
    return not truth.can_be_written(position)


WITH_ROUTE = {
    Verdict.HAS_ROUTE: Truth.can_be_written,
    Verdict.WRITE_PERM_WIPED: lambda truth, position: (
        _not_writable(truth, position) and any(not row[2] & WRITE for row in truth.rows(position).values())
    ),
    Verdict.MASTER_GONE: lambda truth, position: (
        _not_writable(truth, position) and bool(truth.rows(position).keys() - truth.masters(position))
    ),
    Verdict.NOT_WRITABLE: lambda truth, position: (
        _not_writable(truth, position)
        and any(not (row[2] & WRITE and row[1]) for row in truth.rows(position).values())
    ),
}
"""What a verdict claims of a state with a row of the topic."""


def _ended_by(*causes: str):
    def claim(truth: Truth, position: Position) -> bool:
        return any(truth.causes_after(last) & {*causes} for last in truth.last_held(position))

    return claim


def _ended_with_its_boot(truth: Truth, position: Position) -> bool:
    return any(boot < position[0] for boot, _ in truth.last_held(position))


def _ended_in_a_loss(truth: Truth, position: Position) -> bool:
    return any(truth.is_lost_between(last, position) for last in truth.last_held(position))


WITHOUT_ROUTE = {
    Verdict.NEVER_REGISTERED: lambda truth, position: not truth.was_there(position),
    Verdict.DELETED: _ended_by("delete_topic"),
    Verdict.DROPPED_BY_BROKER: _ended_by("register_broker"),
    Verdict.BROKER_GONE: _ended_by(*ENDS, "register_broker"),
    Verdict.JUST_STARTED: _ended_with_its_boot,
    Verdict.NOT_BACK: _ended_with_its_boot,
    Verdict.UNKNOWN: _ended_in_a_loss,
}
"""What a verdict claims of a state without a row of the topic."""


def check_around(truth: Truth, found: Explanation, instants: list[int]) -> int:
    """Compare the periods beside a time, and count the instants in them."""
    compared = 0
    for fact in found.facts:
        claim = next((claim for begin, claim in AROUND.items() if fact.text.startswith(begin)), None)
        if claim is None or fact.at is None:
            continue
        for at in instants:
            if fact.at <= at and (fact.until is None or at < min(fact.until, found.at + AROUND_MS)):
                assert claim(truth, at), (fact, at)
                compared += 1
    return compared


def _had_no_queue(truth: Truth, at: int) -> bool:
    """Or it was not known, or nobody had registered it yet: of these nothing is said."""
    position = truth.known.position(at)
    if truth.known.knowledge(at) is not Knowledge.KNOWN or position[1] <= 1:
        return truth.known.knowledge(at) is not Knowledge.UNKNOWN
    return _not_writable(truth, position)


AROUND = {
    "no queue to write to for": _had_no_queue,
    "not known for": lambda truth, at: truth.known.knowledge(at) is Knowledge.UNKNOWN,
    "no answer for": lambda truth, at: truth.known.knowledge(at) is Knowledge.STOPPED,
}
"""What the facts about the time around claim of each instant in them."""


def evidence_of(server: JournalledServer, topic: str) -> Evidence:
    return evidence_in(history_of(server.namesrv, read_records(server.lines(), topic), topic))


def check_history(chance: Random, server: JournalledServer, count: int) -> set[Verdict]:
    topic = chance.choice(TOPICS)
    truth, evidence = Truth(server, topic), evidence_of(server, topic)
    found = set()
    instants = truth.known.instants(chance, count)
    for at in instants:
        (explanation,) = explain([evidence], at)
        found.add(check_verdict(truth, evidence, explanation, at))
        check_around(truth, explanation, instants)
    return found


@given(chances)
@LAW
def test_a_verdict_claims_what_the_server_held(chance):
    check_history(chance, random_history(chance, 60), 10)


def collected(server: JournalledServer, topic: str, at: int, limit_bytes: int) -> Collected:
    records = read_records(server.lines(), topic)
    return collect_evidence(server.namesrv, topic, at, lambda: steps(records, Rows), limit_bytes)


@given(chances)
@LAW
def test_a_verdict_claims_what_the_server_held_whatever_has_room(chance):
    """With too little memory for all sessions; the answer may be that there are too many changes."""
    server, topic = random_history(chance, 60), chance.choice(TOPICS)
    truth, size = Truth(server, topic), history_of(server.namesrv, read_records(server.lines()), topic).size
    for at in truth.known.instants(chance, 10):
        evidence = collected(server, topic, at, chance.randrange(size)).evidence
        (explanation,) = explain([evidence], at)
        if explanation.verdict is not Verdict.UNKNOWN or evidence.dropped_until is None:
            check_verdict(truth, evidence, explanation, at)


def check_limited(chance: Random) -> None:
    server, topic = random_history(chance, 60, clock_jumps=True), chance.choice(TOPICS)
    whole = evidence_of(server, topic)
    size = history_of(server.namesrv, read_records(server.lines()), topic).size
    for at in JournalOracle(server).instants(chance, 10):
        found = collected(server, topic, at, chance.randrange(size))
        period, knows_up_to = found.evidence.period_at(at), whole.knows_up_to
        assert found.evidence.knows_up_to == knows_up_to
        assert (
            period is None or period == whole.period_at(at) or period.valid_from == found.evidence.known_from
        )
        if period is not None and period.state == "up" and at <= knows_up_to:
            assert set(map(queues, found.evidence.routes_at(at))) == set(map(queues, whole.routes_at(at)))
        if not found.notes:
            assert found.evidence.periods == whole.periods
            assert explain([found.evidence], at) == explain([whole], at)


@given(chances)
@LAW
def test_what_has_no_room_is_not_needed_or_there_is_a_note(chance):
    """However the clock went."""
    check_limited(chance)


def test_a_row_that_comes_in_the_millisecond_of_a_dropped_loss_is_not_lost():
    check_limited(Random(247))


def test_changes_at_the_time_at_which_an_unknown_period_ends_are_needed():
    """The clock was put back to the checkpoint that ends it."""
    check_limited(Random(20877))


def test_an_end_that_is_recorded_counts_although_it_came_back_in_a_loss():
    """Of a state that was never known: its first checkpoint was lost, too."""
    chance = Random(7504)
    assert Verdict.BROKER_GONE in check_history(chance, random_history(chance, 60), 10)


def test_a_master_that_came_in_a_loss_is_not_gone():
    """The row is as it was when the last one had gone, and the records of the next one are lost."""
    chance = Random(3285)
    assert Verdict.NOT_WRITABLE in check_history(chance, random_history(chance, 60), 10)


def test_of_two_ends_at_one_time_either_may_be_the_last():
    """A broker was replaced, and in the same millisecond the topic was deleted on another one."""
    chance = Random(1522)
    assert Verdict.BROKER_GONE in check_history(chance, random_history(chance, 60), 10)


@given(chances)
@LAW
def test_a_verdict_claims_what_the_server_held_when_it_was_killed(chance):
    """The last thing on disk counts, although nothing follows it."""
    server = random_history(chance, 25)
    server.crash(chance.randrange(1, 200))
    server.passed(5_000)
    server.start()
    check_history(chance, server, 10)


def test_periods_around_a_time_are_met():
    """So that the law says something of them."""
    chance = Random(5)
    compared = 0
    for _ in range(40):
        server = random_history(chance, 60)
        truth, evidence = Truth(server, TOPICS[0]), evidence_of(server, TOPICS[0])
        instants = truth.known.instants(chance, 20)
        for at in instants:
            (explanation,) = explain([evidence], at)
            compared += check_around(truth, explanation, instants)
    assert compared > 100


def test_every_verdict_is_met():
    """So that the law says something."""
    chance = Random(3)
    missing = {*Verdict} - {Verdict.NOT_ON_THIS_ONE}
    for _ in range(150):
        missing -= check_history(chance, random_history(chance, 80), 20)
        if not missing:
            break
    assert missing == set()


@given(chances)
@LAW
def test_a_client_has_a_queue_to_send_to_if_why_says_so(chance):
    """One definition of writable, whatever acting masters and order configurations do to the route."""
    server = random_history(chance, 40)
    topic = chance.choice(TOPICS)
    known, evidence, records = JournalOracle(server), evidence_of(server, topic), read(server)
    for at in known.instants(chance, 4):
        state = state_at(records, at)
        if state.knowledge is not Knowledge.KNOWN:
            continue
        route = route_of(state.state, topic)
        if route is None or route.order_topic_conf or route.topic_queue_mapping_by_broker:
            continue
        (explanation,) = explain([evidence], at)
        assert topic_publish_info(topic, route).ok == (explanation.verdict is Verdict.HAS_ROUTE)
