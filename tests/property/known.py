"""What is known of a journalled server at an instant, by the definition, to be held against every reader."""

from random import Random
from typing import Any

from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.lines import split_lines
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.history import AnyRecord
from tests.property.journalled import (
    JournalledServer,
    Position,
    Written,
    complete_checkpoints,
    shown,
    unknown,
)
from tests.support.history.oracle import State
from tests.support.pipeline.gold_state import frozen

__all__ = ["JournalOracle", "held", "read"]


class JournalOracle:
    """A server, and what its journal must be known to say."""

    def __init__(self, server: JournalledServer) -> None:
        self.server = server
        self.whole = complete_checkpoints(server)
        self._in_order = [each for each in server.written if not each.checkpoint]
        self._effective = effective_times(self._in_order)
        self._unknown = unknown(server)
        self._stops = {
            (each.boot, each.seq) for each in server.written if b'"server_stopped"' in each.line[:30]
        }

    def instants(self, chance: Random, count: int) -> list[int]:
        """Instants at which something happened, or a ms beside it."""
        return sorted({chance.choice(self._in_order).ts + chance.choice((-1, 0, 1)) for _ in range(count)})

    def position(self, at: int) -> Position:
        """The last record that is not later: by effective time, whatever the clock did."""
        return max((position for position, ms in self._effective.items() if ms <= at), default=(0, 0))

    def knowledge(self, at: int) -> Knowledge:
        """What is known of an instant, by the definition."""
        effective, whole = self._effective, self.whole
        if at > effective[max(effective)]:
            return Knowledge.NOT_YET
        if not whole or at < effective[whole[0]]:
            return Knowledge.BEFORE
        for since, until in self._unknown:
            if effective[since] <= at and (until is None or at < effective[until]):
                return Knowledge.UNKNOWN
        return Knowledge.STOPPED if self.position(at) in self._stops else Knowledge.KNOWN

    def state(self, at: int) -> State | None:
        """What the live tables held, table by table as the tables of a warehouse have it; None: not known."""
        position = self.position(at)
        if self.knowledge(at) is not Knowledge.KNOWN or position[1] <= 1:
            return None
        truth = self.server.truth[position]
        if not is_recorded(self.whole, position):
            return None  # which properties the new process has comes with its first whole checkpoint
        return {
            "live": {
                key: (name, broker_id, gen, ha_addr or None, timeout_ms, (state, timestamp, counter))
                for key, (name, broker_id, ha_addr, timeout_ms, (timestamp, counter, state), gen)
                in truth["live"].items()
            },
            "group": {
                (name,): (cluster, zone, acting, tuple(sorted(addrs.items())))
                for name, (cluster, addrs, acting, zone) in truth["groups"].items()
            },
            "cluster": {(name,): tuple(sorted(names)) for name, names in truth["clusters"].items()},
            "topic": {
                (name, topic): queues for topic, rows in truth["topics"].items() for name, queues in rows.items()
            },
            "mapping": {
                (topic, name): frozen(_standard(mapping))
                for topic, rows in truth["mappings"].items()
                for name, mapping in rows.items()
            },
            "filter": {key: tuple(servers) for key, servers in truth["filters"].items()},
            "kv": {(space, key): value for space, rows in truth["kv"].items() for key, value in rows.items()},
            "config": {(name,): value for name, value in truth["properties"].items()},
        }  # fmt: skip


def read(server: JournalledServer) -> list[AnyRecord]:
    """The records of a journal, every one of them known."""
    reader = RecordReader()
    found = [reader(line) for line in split_lines(iter(server.lines()))]
    assert not reader.unreadable, reader.first_unreadable
    assert not reader.unknown_kinds
    return [record for record in found if record is not None]


def held(state: Any, server: JournalledServer, whole: list[Position], position: Position) -> dict[str, Any]:
    """What was replayed. A new process may have other properties: its first whole checkpoint tells them."""
    properties = state.properties if is_recorded(whole, position) else server.truth[position]["properties"]
    return shown(state.tables, state.kv, properties)


def is_recorded(whole: list[Position], position: Position) -> bool:
    """Whether there is a whole checkpoint in the boot of a position, before it."""
    return any(boot == position[0] and seq <= position[1] for boot, seq in whole)


def effective_times(in_order: list[Written]) -> dict[Position, int]:
    """The minimum of a record's time and of all later ones'."""
    times, least = {}, in_order[-1].ts
    for each in reversed(in_order):
        least = times[each.boot, each.seq] = min(least, each.ts)
    return times


def _standard(value: Any) -> Any:
    """As standard JSON has it: keys are text, and so are numbers that JavaScript can't hold."""
    if isinstance(value, dict):
        return {str(key): _standard(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_standard(inner) for inner in value]
    is_large = isinstance(value, int) and abs(value) >= 2**53
    return str(value) if is_large else value
