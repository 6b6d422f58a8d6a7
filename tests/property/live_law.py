"""Many real name servers with their journals: what they held, to be held against the replay and against tables."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.replay import state_at
from namekeeper.route import registration, removal
from tests.property.histories import random_history
from tests.property.known import JournalOracle, held, read
from tests.support.pipeline.gold_state import GoldState

__all__ = ["LiveLaw", "small_pieces"]

Record = dict[str, Any]


class LiveLaw:
    """Servers that lived at random, with clocks that jump, crashes and losses."""

    def __init__(self, *, seed: int, servers: int, happenings: int) -> None:
        self._chance = Random(seed)
        with small_pieces():
            self._known = [
                JournalOracle(
                    random_history(
                        self._chance,
                        happenings,
                        f"live-{number}_9876",
                        clock_jumps=number % 2 == 0,
                        clusters=(f"c{number}", f"d{number}"),
                    )
                )
                for number in range(servers)
            ]

    def of_each_server(self) -> list[list[Record]]:
        """The records of each server."""
        return [[json.loads(line) for line in known.server.lines()] for known in self._known]

    def records(self) -> list[Record]:
        """All of them, one server after the other."""
        return [record for records in self.of_each_server() for record in records]

    def assert_states(self, rows_of: Callable[[str], Iterable[Mapping[str, Any]]], *, instants: int) -> int:
        """Tables, replay and live tables are the same; returns how many states were compared."""
        gold, compared = GoldState(rows_of), 0
        for known in self._known:
            namesrv, records = known.server.namesrv, read(known.server)
            for at in known.instants(self._chance, instants):
                replayed = state_at(records, at)
                assert replayed.knowledge == known.knowledge(at), (namesrv, at)
                if replayed.knowledge is not Knowledge.KNOWN:
                    empty = gold.at(namesrv, at)
                    assert not any(empty.values()) or replayed.knowledge is Knowledge.NOT_YET, (namesrv, at)
                    continue
                wanted = known.state(at)
                if wanted is None:
                    continue
                position = known.position(at)
                assert (
                    held(replayed.state, known.server, known.whole, position) == known.server.truth[position]
                )
                assert gold.at(namesrv, at) == wanted, (namesrv, at)
                compared += 1
        return compared


@contextmanager
def small_pieces() -> Iterator[None]:
    """Registrations of four topics take turns and their records come in pieces, as those of thousands do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registration, "ROW_SLICE", 2)
        patch.setattr(removal, "INDEX_SLICE", 1)
        patch.setattr("namekeeper.journal.contract.encode.ROWS_IN_A_RECORD", 2)
        yield
