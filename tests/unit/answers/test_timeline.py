"""One timeline of several name servers."""

import json
from datetime import UTC

from namekeeper.answers.row_changes import HistoryEvent, RowChange, What
from namekeeper.answers.timeline import SAME_MS, timeline, timeline_json, timeline_lines

T0 = 1_700_000_000_000


def gone(namesrv: str, at: int, gen: int = 1, **more) -> HistoryEvent:
    row = RowChange(("live", "c", "a:1"), ("b0", 0, "", (0, 1, 1), gen), None)
    return HistoryEvent(T0 + at, namesrv, What.CHANGE, **{"cause": "expired", "rows": (row,), **more})


def test_a_change_that_three_saw_is_one_line_with_the_time_of_each():
    entries = timeline([gone("z", 4_000, gen=9), gone("x", 0), gone("y", 1_250)])
    assert list(timeline_lines(entries, UTC)) == [
        "2023-11-14 22:13:20.000 UTC  broker b0 (id 0) at a:1 is gone (expired)  [x, y +1,250 ms, z +4,000 ms]"
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
        RowChange(("live", "c", "a:1"), None, ("b0", 0, "", (0, 1, 1), 1)),
        RowChange(("group", "b0"), ("c", None, False, ((0, "a:1"),)), ("c", None, False, ())),
        RowChange(("topic", "T", "b0"), (8, 8, 6, 0), (8, 8, 4, 0)),
        RowChange(("mapping", "T", "b0"), None, ("{}",)),
        RowChange(("filter", "c", "a:1"), None, ("f:1",)),
    )
    events = [
        HistoryEvent(T0, "x", What.CHANGE, "register_broker", "a:9", rows),
        *(HistoryEvent(T0 + 1, "x", what) for what in (What.STOPPED, What.STARTED, What.LOST)),
        HistoryEvent(T0 + 2, "x", What.CORRECTED, rows=rows[:1]),
    ]
    lines = list(timeline_lines(timeline(events), UTC))
    assert "topic T on b0: RW- 8/8 queues -> R-- 8/8 queues" in lines[0]
    assert "group b0 has no member, before 0=a:1" in lines[0]
    assert "(register_broker from a:9)" in lines[0]
    assert "the name server stopped" in lines[1]
    assert "records are lost from here on" in lines[3]
    assert "found by a checkpoint" in lines[4]


def test_many_rows_are_counted_and_json_has_all():
    rows = tuple(RowChange(("topic", f"T{each}", "b0"), None, (8, 8, 6, 0)) for each in range(9))
    entries = timeline([HistoryEvent(T0, "x", What.CHANGE, "register_broker", "", rows)])
    assert "; 6 more topic rows (register_broker)" in next(timeline_lines(entries, UTC))
    (value,) = json.loads(timeline_json(entries))
    assert len(value["rows"]) == 9
    assert value["seen"] == {"x": T0}


def test_a_name_can_not_forge_a_line():
    row = RowChange(("topic", "T\n2023", "b\x1b[2J"), None, (8, 8, 6, 0))
    (line,) = timeline_lines(timeline([HistoryEvent(T0, "x", What.CHANGE, rows=(row,))]), UTC)
    assert line.isprintable()
