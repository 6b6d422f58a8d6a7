"""A shadow counts for nothing that name servers tell together: no client asks it (docs/decisions/0041)."""

from collections.abc import Sequence
from typing import Any

import pytest

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import READ, Record
from tests.support.history.labels import labelled
from tests.support.history.observed import BEGIN, FIRST, MINUTE, ORDINARY, observed
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.shadows import TOGETHER

SHADOW = "east.shadow"


def beside_a_shadow() -> tuple[list[Record], list[Record]]:
    """The records of a name server, which loses its broker twice, and those of a shadow, which keeps it then.

    The shadow loses the broker and the permission of a topic when the other one has both. Its records end later.
    """
    history, (server, shadow) = observed(FIRST, SHADOW)
    for each in (server, shadow):
        each.come(0, 0)
    server.go(10 * MINUTE, 0)
    minute = BEGIN + 11 * MINUTE
    row = {
        "kind": "unknown_topic_minute",
        "minute": minute,
        "topic": "orders",
        "count": 7,
        "language": "JAVA",
    }
    for each in (server, shadow):
        each.write(minute + MINUTE, [{**row, "client_version": 493}])
    server.come(15 * MINUTE, 0)
    shadow.change_topics(17 * MINUTE, 0, orders=(4, 4, READ, 0))
    shadow.change_topics(18 * MINUTE, 0, orders=ORDINARY)
    shadow.go(20 * MINUTE, 0)
    shadow.come(23 * MINUTE, 0)
    server.go(25 * MINUTE, 0)
    server.end(30 * MINUTE)
    shadow.stop(BEGIN + 38 * MINUTE)
    shadow.start(BEGIN + 39 * MINUTE)
    shadow.come(40 * MINUTE, 0)
    shadow.end(41 * MINUTE)
    return history.records[FIRST], history.records[SHADOW]


def gold(*records: Sequence[Record]) -> Duck:
    duck = Duck()
    make_gold(duck, duck.load([record for some in records for record in some]))
    return duck


@pytest.mark.parametrize("label", ["", "east"])
def test_a_shadow_changes_nothing_that_name_servers_tell_together(label: str):
    """Tables about each name server have rows of it."""
    server, shadow = (labelled(some, label) if label else some for some in beside_a_shadow())
    alone, both = gold(server), gold(server, shadow)
    for table in TOGETHER:
        assert both.gold(table) == alone.gold(table), table
    found: list[dict[str, Any]] = both.gold("incident")
    assert [(row["kind"], row["is_open"], row["topics"], row["lookups"]) for row in found] == [
        ("broker_away", False, 1, 7), ("broker_away", True, 1, 0),
    ]  # fmt: skip
    assert [(row["namesrv"], row["topics"]) for row in both.gold("capacity_daily")] == [(SHADOW, 1)]
    labels = {row["namesrv"]: row["cluster_label"] for row in both.gold("name_server_label_daily")}
    assert labels == ({FIRST: label, SHADOW: label} if label else {})
