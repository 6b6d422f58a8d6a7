"""What would be left without some brokers, out of a recorded state."""

from namekeeper.admin.what_if import Gone
from namekeeper.answers.what_if import gone_of, snapshot_of
from tests.unit.answers.story import Story


def test_the_snapshot_has_every_broker_and_the_route_of_every_topic():
    story = Story("ns-1")
    story.registers("b0", "a0:1", ("T", "U"))
    story.registers("b1", "a1:1", ("T",))
    found = snapshot_of("ns-1", story.history().state_at(story.now, "T"))
    assert (found.addr, sorted(found.brokers)) == ("ns-1", ["b0", "b1"])
    route = found.routes["T"]
    assert route is not None
    assert [each.broker_name for each in route.queue_datas] == ["b0", "b1"]


def test_a_name_counts_where_it_is_known_and_one_that_is_nowhere_is_named():
    stories = Story("ns-1"), Story("ns-2")
    stories[0].registers("b0", "a0:1", ("T",), zone="z")
    stories[1].registers("b1", "a1:1", ("T",))
    snapshots = [snapshot_of("ns", each.history().state_at(each.now, "T")) for each in stories]
    assert gone_of(snapshots, ["b1", "a0:1", "b2"], ["z", "y"]) == (
        [Gone(frozenset({"b0"}), frozenset({"a0:1"})), Gone(frozenset({"b1"}), frozenset())],
        {"b2", "y"},
    )
