"""Checkpoints that mostly repeat what is known of topics, and the history that the SQL makes of them."""

import random
from collections.abc import Mapping
from typing import Any

from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.plan import FOREVER
from tests.support.pipeline.duck import Duck

__all__ = ["NOTHING_CONFIRMED", "QuietServer", "history_of"]

Rows = list[tuple[Any, ...]]

NOTHING_CONFIRMED = (
    "SELECT DISTINCT f.namesrv, f.boot, f.broker_name, f.bucket, f.checkpoint, k.span, k.span_to_ts,"
    " k.span_ended_by, k.to_boot, k.to_position FROM bucketed_topic_row f"
    " JOIN known_position k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.position = f.checkpoint"
)
"""Instead of the query `checkpoint_run`: each row of a checkpoint is looked at."""

_BROKER_NAMES = ("broker-a", "broker-b")
_TOPICS = ("t1", "t2", "t3", "t4")
_VALUES = ((8, 8, 6, 0), (8, 8, 4, 0))
_STEPS = ("checkpoint", "correction", "change", "removal", "loss", "restart")
_WEIGHTS = (9, 1, 3, 1, 1, 1)

_VIEWS = (
    "bucketed_topic_row",
    "topic_fingerprint",
    "topic_change",
    "checkpoint_run",
    "checkpoint_run_start",
    "topic_recorded",
    "computed_topic_route",
)

_BUCKETS = "SELECT DISTINCT namesrv, boot, checkpoint, broker_name, bucket FROM bucketed_topic_row WHERE checkpoint IS NOT NULL"

_POSITION_DDL = (
    "namesrv string, boot bigint, position bigint, eff_ts bigint, span bigint, span_to_ts bigint,"
    " span_ended_by string, to_boot bigint, to_position bigint"
)
_RECORDED_DDL = (
    "namesrv string, boot bigint, seq bigint, place bigint, checkpoint bigint, cause string, peer string,"
    " window_ms bigint, broker_name string"
)
_ROW_DDL = (
    f"{_RECORDED_DDL}, topic string, read_queue_nums int, write_queue_nums int, perm int, topic_sys_flag int,"
    " gone boolean"
)


class QuietServer:
    """What one name server recorded of topics, from a seed."""

    def __init__(self, namesrv: str, rng: random.Random, steps: int = 12) -> None:
        self.positions: Rows = []
        self.rows: Rows = []
        self.removals: Rows = []
        self._namesrv = namesrv
        self._rng = rng
        self._held: dict[tuple[str, str], tuple[int, ...]] = {}
        self._boot, self._position, self._now, self._span = 1, 0, 0, 0
        self._open: list[tuple[int, int]] = []
        for key in [(name, topic) for name in _BROKER_NAMES for topic in _TOPICS]:
            self._held[key] = _VALUES[0]
        self._checkpoint()
        for step in rng.choices(_STEPS, _WEIGHTS, k=steps):
            self._now += rng.choice((0, 0, 1, 5))
            getattr(self, f"_{step}")()
        self._close("checkpoint" if rng.random() < 0.3 else None, FOREVER, None)

    def _next(self) -> int:
        self._position += self._rng.choice((1, 1, 7))
        return self._position

    def _close(self, ended_by: str | None, to_ts: int, to: tuple[int, int] | None) -> None:
        """Say how long what is known since the last checkpoint was."""
        ends = self._span, to_ts, ended_by, *(to or (None, None))
        boot = self._boot
        self.positions += [(self._namesrv, boot, position, eff_ts, *ends) for position, eff_ts in self._open]
        self._open = []

    def _checkpoint(self) -> None:
        position = self._next()
        if self._open:
            self._close("checkpoint", self._now, (self._boot, position))
        self._span = position
        self._open = [(position, self._now)]
        for number, (key, values) in enumerate(sorted(self._held.items()), 1):
            recorded = self._namesrv, self._boot, position + number, position, position, None, None, None
            self.rows.append((*recorded, key[0], key[1], *values, False))
        self._position += len(self._held) + 1

    def _recorded(self) -> tuple[Any, ...]:
        position = self._next()
        self._open.append((position, self._now))
        return self._namesrv, self._boot, position, position, None, "register_broker", "10.0.0.1:4711", None

    def _change(self) -> None:
        key = self._rng.choice(_BROKER_NAMES), self._rng.choice(_TOPICS)
        before = self._held.pop(key, None)
        values = self._rng.choice([value for value in (*_VALUES, None) if value != before])
        if values is not None:
            self._held[key] = values
        self.rows.append((*self._recorded(), *key, *(values or (None,) * 4), values is None))

    def _removal(self) -> None:
        name = self._rng.choice(_BROKER_NAMES)
        self.removals.append((*self._recorded(), name))
        self._held = {key: values for key, values in self._held.items() if key[0] != name}

    def _unseen(self) -> None:
        """Something may happen that no record tells."""
        if self._rng.random() < 0.5:
            self._held[self._rng.choice(_BROKER_NAMES), self._rng.choice(_TOPICS)] = self._rng.choice(_VALUES)

    def _correction(self) -> None:
        self._unseen()
        self._checkpoint()

    def _loss(self) -> None:
        self._close("unknown", self._now, (self._boot, self._next()))
        self._unseen()
        self._now += self._rng.choice((0, 3))
        self._checkpoint()

    def _restart(self) -> None:
        self._close("stopped", self._now, (self._boot, self._next()))
        self._unseen()
        self._boot, self._position = self._boot + 1, 0
        self._now += self._rng.choice((0, 3))
        self._checkpoint()


def history_of(
    servers: list[QuietServer], instead: Mapping[str, str] | None = None
) -> tuple[list[tuple[Any, ...]], int]:
    """Rows of topic_route, and how many buckets of checkpoints were left out because they only confirm.

    Args:
        servers: What name servers recorded.
        instead: View -> text of its query, for views that shall not be computed as usual.
    """
    duck = Duck()
    duck.put("known_position", _POSITION_DDL, [row for server in servers for row in server.positions])
    duck.put("topic_row", _ROW_DDL, [row for server in servers for row in server.rows])
    duck.put("broker_name_removed", _RECORDED_DDL, [row for server in servers for row in server.removals])
    graph = gold_graph()
    texts = {name: graph[name].sql for name in _VIEWS} | dict(instead or {})
    texts["bucketed_topic_row"] = _in_two_buckets(texts["bucketed_topic_row"])
    make_chain(duck, [graph[name]._replace(sql=texts[name]) for name in _VIEWS], {})
    duck.define("every", _BUCKETS, {})
    looked_at = sum(row["checkpoint"] == row["span"] for row in duck.rows("checkpoint_run"))
    left_out = len(duck.rows("every")) - looked_at
    return sorted((tuple(row.values()) for row in duck.rows("computed_topic_route")), key=repr), left_out


def _in_two_buckets(query: str) -> str:
    """The text of a query; the few topics of a quiet server shall not be each alone in a bucket."""
    assert query.count("& 15") == 1
    return query.replace("& 15", "& 1")
