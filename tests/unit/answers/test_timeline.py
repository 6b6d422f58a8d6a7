"""One timeline of several name servers."""

import json
from datetime import UTC

from msgspec import Raw

from namekeeper.answers.timeline import SAME_MS, timeline, timeline_json, timeline_lines
from namekeeper.history.rows import (
    FilterKey,
    GroupKey,
    HistoryEvent,
    LiveKey,
    MappingKey,
    RowChange,
    TopicKey,
    What,
)
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    FilterServers,
    TopicMapping,
    TopicQueuesRow,
)

T0 = 1_700_000_000_000


LIVE = LiveKey("c", "a:1")


def live(gen: int = 1) -> BrokerLive:
    return BrokerLive(
        cluster="c", broker_addr="a:1", broker_name="b0", broker_id=0, gen=gen, data_version=(0, 1, 1)
    )


def group(addrs: dict[int, str], *, acting: bool = False) -> BrokerGroup:
    return BrokerGroup(broker_name="b0", cluster="c", acting_master=acting, broker_addrs=addrs)


def queues(topic: str = "T", perm: int = 6) -> TopicQueuesRow:
    return TopicQueuesRow(topic, 8, 8, perm, 0)


def gone(namesrv: str, at: int, gen: int = 1, **more) -> HistoryEvent:
    row = RowChange(LIVE, live(gen), None)
    return HistoryEvent(T0 + at, namesrv, What.CHANGE, **{"cause": "expired", "rows": (row,), **more})


def test_a_change_that_three_saw_is_one_line_with_the_time_of_each():
    entries = timeline([gone("z", 4_000, gen=9), gone("x", 0), gone("y", 1_250)])
    assert list(timeline_lines(entries, UTC)) == [
        "2023-11-14 22:13:20.000 UTC  broker b0 (id 0) at a:1 is gone (silent for too long)  [x, y +1,250 ms, z +4,000 ms]"
    ]


def test_what_differs_or_comes_again_or_much_later_is_a_line_of_its_own():
    assert len(timeline([gone("x", 0), gone("y", 1, cause="unregister_broker")])) == 2
    assert len(timeline([gone("x", 0), gone("x", 1)])) == 2
    assert len(timeline([gone("x", 0), gone("y", SAME_MS + 1)])) == 2


def test_the_port_of_the_peer_makes_no_difference():
    assert len(timeline([gone("x", 0, peer="p:1"), gone("y", 1, peer="p:2")])) == 1
    assert len(timeline([gone("x", 0, peer="p:1"), gone("y", 1, peer="q:1")])) == 2


def test_every_kind_of_row_and_event_has_words():
    rows = (
        RowChange(LIVE, None, live()),
        RowChange(GroupKey("b0"), group({0: "a:2"}), group({})),
        RowChange(TopicKey("T", "b0"), queues(), queues(perm=4)),
        RowChange(MappingKey("T", "b0"), None, TopicMapping(topic="T", broker_name="b0", mapping=Raw(b"{}"))),
        RowChange(
            FilterKey("c", "a:1"),
            None,
            FilterServers(cluster="c", broker_addr="a:1", filter_servers=["f:1"]),
        ),
    )
    events = [
        HistoryEvent(T0, "x", What.CHANGE, "register_broker", "a:9", rows),
        *(HistoryEvent(T0 + 1, "x", what) for what in (What.STOPPED, What.STARTED, What.LOST)),
        HistoryEvent(T0 + 2, "x", What.CORRECTED, rows=rows[:1]),
    ]
    lines = list(timeline_lines(timeline(events), UTC))
    assert "topic T on b0: RW- 8/8 queues -> R-- 8/8 queues" in lines[0]
    assert "group b0 has no member, before 0=a:2" in lines[0]
    assert "(registration from a:9)" in lines[0]
    assert "the name server stopped" in lines[1]
    assert "records are lost from here on" in lines[3]
    assert "found by a checkpoint" in lines[4]


def test_a_broker_that_was_restored_did_not_register():
    row = RowChange(LIVE, None, live())
    (line,) = timeline_lines(timeline([HistoryEvent(T0, "x", What.CHANGE, "restored", rows=(row,))]), UTC)
    assert "broker b0 (id 0) at a:1 is back (restored when the name server started)" in line


def test_a_group_is_told_apart_only_if_more_changed_than_who_is_in_it():
    came = RowChange(LIVE, None, live())
    joined = RowChange(GroupKey("b0"), None, group({0: "a:1"}))
    acting = RowChange(GroupKey("b0"), group({}), group({0: "a:1"}, acting=True))
    alone, both, more = (
        next(timeline_lines(timeline([HistoryEvent(T0, "x", What.CHANGE, rows=rows)]), UTC))
        for rows in ((joined,), (came, joined), (came, acting))
    )
    assert "group b0 has 0=a:1" in alone
    assert "group" not in both
    assert "group b0 has 0=a:1, before no member" in more


def test_a_group_that_ended_has_no_member_left():
    row = RowChange(GroupKey("b0"), group({0: "a:1"}), None)
    (line,) = timeline_lines(timeline([HistoryEvent(T0, "x", What.CHANGE, rows=(row,))]), UTC)
    assert "group b0 has no member left" in line


def test_who_asked_is_named_by_what_it_did():
    lines = [
        next(timeline_lines(timeline([gone("x", 0, cause=cause, peer="p:1")]), UTC))
        for cause in ("channel_closed", "unregister_broker", "expired", "a_newer_cause")
    ]
    assert [line.partition("(id 0) at a:1 is gone (")[2].partition(")")[0] for line in lines] == [
        "connection closed from p:1",
        "unregistered by p:1",
        "silent for too long",
        "a newer cause by p:1",
    ]


def test_many_rows_are_counted_and_json_has_all():
    rows = tuple(RowChange(TopicKey(f"T{each}", "b0"), None, queues(f"T{each}")) for each in range(9))
    entries = timeline([HistoryEvent(T0, "x", What.CHANGE, "register_broker", "", rows)])
    assert "; 6 more topic rows (registration)" in next(timeline_lines(entries, UTC))
    (value,) = json.loads(timeline_json(entries))
    assert len(value["rows"]) == 9
    assert value["seen"] == {"x": T0}


def test_a_name_can_not_forge_a_line():
    row = RowChange(TopicKey("T\n2023", "b\x1b[2J"), None, queues())
    (line,) = timeline_lines(timeline([HistoryEvent(T0, "x", What.CHANGE, rows=(row,))]), UTC)
    assert line.isprintable()
