"""Changes, newest first: filters, windows, and what several name servers saw."""

import pytest

from namekeeper.console.changes import ChangeQuery, beside, change_rows
from namekeeper.history.history import History
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories


def rows(query, *stories):
    return change_rows([story.history() for story in stories], query)["rows"]


def test_a_change_that_two_saw_is_one_row_and_the_newest_is_first():
    found = rows(ChangeQuery(), *two_stories())
    assert [row["cause"] for row in found[:2]] == ["delete_topic", "register_broker"]
    assert list(found[0]["seen"]) == ["b_1"]
    assert sorted(found[1]["seen"]) == ["a_1", "b_1"]
    assert [row["at"] for row in found] == sorted((row["at"] for row in found), reverse=True)


@pytest.mark.parametrize(
    ("query", "causes"),
    [
        (ChangeQuery(topic="payments"), {"delete_topic", "wipe_write_perm", "register_broker", None}),
        (ChangeQuery(cause="wipe_write_perm"), {"wipe_write_perm"}),
        (ChangeQuery(broker="b1"), {"register_broker", "channel_closed", None}),
        (ChangeQuery(broker="a1"), {"register_broker", "channel_closed", None}),
        (ChangeQuery(text="PAYM", cause="delete_topic"), {"delete_topic"}),
        (ChangeQuery(peer="peer:99"), {"delete_topic", "wipe_write_perm"}),
        (ChangeQuery(namesrv="a_1", cause="delete_topic"), set()),
        (ChangeQuery(cause="started"), {None}),
        (ChangeQuery(text="no such name"), set()),
    ],
)
def test_filters(query, causes):
    assert {row["cause"] for row in rows(query, *two_stories())} == causes


def test_a_window_says_whether_there_are_older_ones():
    histories = [story.history() for story in two_stories()]
    every = change_rows(histories, ChangeQuery())
    assert not every["has_more"]
    part = change_rows(histories, ChangeQuery(limit=2))
    assert part["has_more"]
    assert part["rows"] == every["rows"][:2]
    older = change_rows(histories, ChangeQuery(end_at=part["rows"][-1]["at"] - 1))
    assert older["rows"][0]["at"] < part["rows"][-1]["at"]
    newer = change_rows(histories, ChangeQuery(begin_at=part["rows"][-1]["at"]))
    assert newer["rows"] == part["rows"]


def test_of_a_large_change_the_first_rows_are_sent():
    story = Story()
    story.registers(topics=tuple(f"T{n:03}" for n in range(100)))
    row = rows(ChangeQuery(cause="register_broker"), story)[0]
    assert row["row_count"] == 104
    assert len(row["rows"]) == 20
    assert "broker b0 (id 0) at a0:1 registered" in row["text"]


def test_the_changes_beside_an_instant():
    story = Story()
    first = story.registers()
    second = story.wiped()
    histories = [story.history()]
    assert beside(histories, first) == {"before": story.journal.boots[0], "after": second, "known_from": None}
    assert beside(histories, second - 1) == {"before": first, "after": second, "known_from": None}
    assert beside(histories, second) == {"before": first, "after": None, "known_from": None}
    assert beside([], 5) == {"before": None, "after": None, "known_from": None}


def test_the_changes_beside_an_instant_are_known_from_the_latest_start_of_all_histories():
    histories = [History("ns-1"), History("ns-2")]
    histories[0].forgotten.times_from, histories[1].forgotten.times_from = 5, 7
    assert beside(histories, 6)["known_from"] == 7


def test_the_changes_of_a_topic_have_the_loss_and_the_return_of_its_master():
    """As `namekeeper history TOPIC` has them."""
    story = Story()
    story.registers("b0", "a0:1", ("T",))
    story.registers("b1", "a1:1", ("U",))
    story.registers("b0", "a0:2", ("T",), broker_id=1)
    story.connection_breaks("a0:1")
    story.connection_breaks("a1:1")
    story.registers("b0", "a0:1", ("T",))
    rows = change_rows([story.history()], ChangeQuery(topic="T"))["rows"]
    texts = [row["text"] for row in rows]
    assert any("broker b0 (id 0) at a0:1 is gone" in text for text in texts)
    assert any("broker b0 (id 0) at a0:1 registered" in text for text in texts)
    assert not any("a1:1" in text for text in texts)
    assert not any("more" in text or "other" in text for text in texts), "rows of other topics"


def test_the_text_of_a_change_counts_all_its_rows():
    story = Story()
    story.registers("b0", "a0:1", tuple(f"T{number}" for number in range(665)))
    row, *_ = change_rows([story.history()], ChangeQuery())["rows"]
    assert "; 664 more topic rows" in row["text"]
    assert (len(row["rows"]), row["row_count"]) == (20, 669)


def test_the_changes_of_a_topic_have_its_order_configuration_and_the_properties():
    story = Story()
    story.registers()
    story.ordered("T")
    story.ordered("another")
    story.configured(orderMessageEnable="true")
    rows = change_rows([story.history()], ChangeQuery(topic="T"))["rows"]
    assert [row["cause"] for row in rows] == [
        "update_namesrv_config",
        "put_kv_config",
        "register_broker",
        None,
    ]
