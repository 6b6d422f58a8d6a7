"""Tables of an instant: windows, filters, disagreement."""

from namekeeper.console.instants import held_by_each
from namekeeper.console.tables import (
    TableQuery,
    broker_rows,
    namesrv_rows,
    topic_rows,
    troubles,
    writable_topics,
)
from namekeeper.drift.report import Differing, find_drift
from namekeeper.history.rows import LiveKey
from tests.unit.answers.story import Story
from tests.unit.console.incident import followed_of, two_stories


def all_held(*stories: Story, at: int | None = None):
    return held_by_each([each.history for each in followed_of(*stories)], at)


def test_name_servers_stand_side_by_side():
    stories = two_stories()
    followed = followed_of(*stories)
    rows = namesrv_rows(followed, held_by_each([each.history for each in followed], None))
    assert [(row["namesrv"], row["topics"], row["brokers"], row["clusters"]) for row in rows] == [
        ("a_1", 4, 2, 1), ("b_1", 3, 2, 1),
    ]  # fmt: skip
    assert rows[0]["knowledge_text"] == "known"
    assert rows[0]["knows_up_to"] == stories[0].now
    assert [row["compared_with"] for row in rows] == [["b_1"], ["a_1"]]


def test_a_broker_that_one_name_server_has_not_is_told_with_its_time():
    one, other = two_stories()
    other.unregisters("a1:1")
    one.alive()
    found = broker_rows(all_held(one, other), TableQuery(only="differs"))
    assert found["total"] == 1
    row = found["rows"][0]
    assert (row["cluster"], row["broker_name"], row["broker_id"], row["addr"]) == ("c", "b1", 0, "a1:1")
    assert row["at"]["b_1"] is None
    assert row["at"]["a_1"]["since"] is not None
    assert row["differs_since"] == other.now


def test_when_a_broker_was_heard_last_is_there_if_it_is_known():
    one, other = two_stories()
    heard = {"a_1": {LiveKey("c", "a1:1"): 5}}
    (row,) = broker_rows(all_held(one, other), TableQuery(text="a1:1"), heard)["rows"]
    assert [row["at"][namesrv]["heard"] for namesrv in ("a_1", "b_1")] == [5, None]


def test_a_broker_is_found_by_its_zone():
    one, other = two_stories()
    one.registers("b2", "a2:1", zone="zone-1")
    (row,) = broker_rows(all_held(one, other), TableQuery(text="ZONE-"))["rows"]
    assert (row["broker_name"], row["zone"]) == ("b2", "zone-1")


def test_a_window_has_its_part_of_the_rows_and_their_number():
    held = all_held(*two_stories())
    every = topic_rows(held, TableQuery())
    names = [row["topic"] for row in every["rows"]]
    assert (every["total"], names) == (4, ["T", "more", "other", "payments"])
    part = topic_rows(held, TableQuery(offset=1, limit=2))
    assert ([row["topic"] for row in part["rows"]], part["total"]) == (["more", "other"], 4)
    assert [row["addr"] for row in broker_rows(held, TableQuery(offset=1))["rows"]] == ["a1:1"]


def test_a_text_is_found_in_any_case():
    held = all_held(*two_stories())
    assert [row["topic"] for row in topic_rows(held, TableQuery(text="PAY"))["rows"]] == ["payments"]
    assert broker_rows(held, TableQuery(text="A1:"))["total"] == 1
    assert topic_rows(held, TableQuery(text="nowhere")) == {"total": 0, "offset": 0, "rows": []}


def test_different_routes_are_shown_with_who_has_them():
    found = topic_rows(all_held(*two_stories()), TableQuery(only="differs"))
    (row,) = found["rows"]
    assert row["routes"] == [
        {"namesrvs": ["a_1"], "queues": [{"broker_name": "b0", "read": 4, "write": 4, "perm": "R--"}]},
        {"namesrvs": ["b_1"], "queues": []},
    ]
    assert row["differs_since"] is not None


def test_topics_without_a_queue_to_write_to():
    found = topic_rows(all_held(*two_stories()), TableQuery(only="unwritable"))
    assert [row["topic"] for row in found["rows"]] == ["payments"]


def test_a_group_without_a_master_can_not_be_written_to():
    story = Story()
    story.registers("b0", "a0:1", ("T",), broker_id=1)
    (held,) = all_held(story)
    assert "T" not in writable_topics(held)
    story.registers("b0", "a1:1", ("T",))
    (held,) = all_held(story)
    assert "T" in writable_topics(held)
    assert writable_topics(held, ["nowhere"]) == set()


def test_troubles_are_counted_as_the_tables_and_the_view_of_drift_list_them():
    one, other = two_stories()
    other.unregisters("a1:1")
    one.ordered("T")
    one.ordered("key", "value", "other namespace")
    for story in (one, other):
        story.later(max(one.now, other.now) + 10_000 - story.now)
        story.alive()
    held = all_held(one, other)
    report = find_drift([one.history(), other.history()])
    unwritable = topic_rows(held, TableQuery(only="unwritable"))["total"]
    assert troubles(held, report.differing) == {
        "topics": 4, "unwritable": unwritable, "topics_differ": 2, "brokers_differ": 1, "entries_differ": 1,
        "known": 2, "compared": 2,
        "brokers_missing": 0, "topics_missing": 0, "missing": [],
    }  # fmt: skip
    assert unwritable > 0
    assert sum(each.broker_count for each in report.verdicts if each.kind == "broker_missing") == 1
    listed = {topic for each in report.verdicts if each.topics for topic in each.topics}
    assert listed == {"T", "payments"}


def test_there_is_no_trouble_where_nothing_is_known():
    one, _ = two_stories()
    held = all_held(one, at=one.journal.boots[0] - 1_000)
    found = troubles(held, Differing())
    assert found["known"] == found["unwritable"] == 0


def test_a_window_of_topics_has_a_limited_number_of_queues(monkeypatch):
    held = all_held(*two_stories())
    queues = [sum(len(each.topics.get(topic, ())) for each in held) for topic in ("T", "more")]
    for limit, shown in ((0, ["T"]), (sum(queues) - 1, ["T"]), (sum(queues), ["T", "more"])):
        monkeypatch.setattr("namekeeper.console.tables.QUEUES_LIMIT", limit)
        found = topic_rows(held, TableQuery(limit=2))
        assert ([row["topic"] for row in found["rows"]], found["total"]) == (shown, 4)


def test_labels_part_clusters_with_equal_names_and_addresses():
    """Without labels, each topic of one of them would differ, and could not be written to at the other."""
    stories = [Story("east_1", "east"), Story("east_2", "east"), Story("west_1", "west")]
    for story in stories[:2]:
        story.registers("b0", "a0:1", ("orders", "payments"))
    stories[2].registers("b0", "a0:1", ("invoices",))
    for story in stories:
        story.alive()
    held = all_held(*stories)
    found = troubles(held, find_drift([story.history() for story in stories]).differing)
    assert (found["unwritable"], found["topics_differ"], found["brokers_differ"]) == (0, 0, 0)
    assert topic_rows(held, TableQuery(only="unwritable"))["total"] == 0
    rows = namesrv_rows(followed_of(*stories), held)
    assert [(row["cluster_label"], row["compared_with"]) for row in rows] == [
        ("east", ["east_2"]), ("east", ["east_1"]), ("west", []),
    ]  # fmt: skip
