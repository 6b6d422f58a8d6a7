"""The law of the past: at any instant it answers every read request as the live name server did then."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given

from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.replay import state_at
from namekeeper.journal.reading.state import State
from namekeeper.messages.catalogue import CATALOGUE
from namekeeper.processor.dispatch import CHANGERS, LISTERS, READERS
from namekeeper.processor.past import past_state
from tests.property.histories import CLUSTERS, NAMES, TOPICS, random_history
from tests.property.journalled import JournalledServer, Position
from tests.property.known import JournalOracle, is_recorded, read
from tests.property.live_law import small_pieces
from tests.property.local_server import LocalServer
from tests.property.test_journal_law import LAW, chances
from tests.support.java_model.values import Answer, Request

INSTANTS = 50

READS = (
    *(Request(105, {"topic": topic}) for topic in (*TOPICS, "nowhere")),
    *(Request(105, {"topic": topic, "acceptStandardJsonOnly": "true"}) for topic in TOPICS),
    *(Request(105, {"topic": topic, "__ZONE_MODE": "true", "__ZONE_NAME": "z"}) for topic in TOPICS),
    *(Request(101, {"namespace": space, "key": TOPICS[0]}) for space in ("ORDER_TOPIC_CONFIG", "n")),
    *(Request(224, {"cluster": cluster}) for cluster in CLUSTERS),
    *(Request(901, {"clusterName": cluster, "brokerName": name}) for cluster in CLUSTERS for name in NAMES),
    *(Request(code, {}) for code in (*READERS, *LISTERS) if CATALOGUE[code].request_header is None),
)
"""Every read request; those without fields come from the catalogue. Not 219: of a namespace whose last entry
went, a live name server answers that it is empty until it restarts, and the past that there is none
(docs/howto/look-at-the-past.md)."""


def answers_of(server: LocalServer) -> list[Answer]:
    found: list[Answer] = []
    for request in READS:
        server.begin(request, 99, 0, found.append)
    return found


@dataclass
class Answering(JournalledServer):
    """What every read request was answered when the record at a position was the last one."""

    answers: dict[Position, list[Answer]] = field(default_factory=dict)

    def _note_truth(self) -> None:
        super()._note_truth()
        self.answers[self.boot, self.seq] = answers_of(self.server)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """As for the law of the journal."""
    with small_pieces():
        yield


def past_of(state: State) -> LocalServer:
    past = LocalServer()
    past.state = past_state(state.tables, state.kv, state.properties)
    return past


def check_law(chance: Random, happenings: int, instants: int) -> int:
    """Returns how many instants were compared."""
    server = random_history(chance, happenings, make=Answering)
    assert isinstance(server, Answering)
    known, records, compared = JournalOracle(server), read(server), 0
    for at in known.instants(chance, instants):
        found, position = state_at(records, at), known.position(at)
        if found.knowledge is not Knowledge.KNOWN or not is_recorded(known.whole, position):
            continue
        assert answers_of(past_of(found.state)) == server.answers[position], at
        compared += 1
    return compared


def test_at_fifty_instants_every_read_request_is_answered_as_it_was():
    chance, compared = Random(22), 0
    while compared < INSTANTS:
        compared += check_law(chance, 120, 25)


@given(chances)
@LAW
def test_at_any_instant_every_read_request_is_answered_as_it_was(chance):
    check_law(chance, 40, 6)


def test_the_requests_that_are_compared_are_all_that_change_nothing():
    compared = {request.code for request in READS} | {219}
    assert compared == {*READERS, *LISTERS}, "READS needs a request with the fields of each read-only code"
    assert not {request.code for request in READS} & set(CHANGERS)
