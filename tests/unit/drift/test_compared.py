"""Which name servers are compared, at which instant, and with which others."""

from namekeeper.drift.compared import compared, lacking_a_cluster, last_common_instant
from namekeeper.drift.verdict import DriftKind
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, align_ends, fleet, report

DAY_MS = 86_400_000


def test_the_last_instant_is_that_of_those_whose_records_align_ends():
    stories = fleet()
    for story, after_ms in zip(stories, (1_000, 60_000, 10 * MINUTE), strict=True):
        story.later(after_ms)
        story.alive()
    ends = [story.now for story in stories]
    found = [story.history() for story in stories]
    assert last_common_instant(found) == ends[2]
    assert last_common_instant(found[:2]) == ends[0]
    assert last_common_instant([]) == 0


def test_a_name_server_that_ended_long_ago_is_not_compared_as_it_was():
    stories = fleet()
    stories[0].deleted("payments")
    stories[0].alive()
    align_ends(stories[1:], 10 * MINUTE)
    found = report(stories)
    assert found.verdicts == []
    assert [each.why_not for each in found.name_servers] == [
        "its records end long before those of the others", "", "",
    ]  # fmt: skip
    assert found.name_servers[1].compared_with == ["ns-3"]


def test_an_instant_before_the_records_is_not_known_of_any():
    stories = fleet()
    align_ends(stories)
    found = report(stories, 1_000)
    assert not found.is_compared
    assert {each.why_not for each in found.name_servers} == {"the journal begins later"}


def test_name_servers_of_two_clusters_are_not_compared():
    stories = fleet(2)
    other = Story("west")
    other.registers("broker-a", "10.9.0.1:10911", ("orders",), perm=4)
    align_ends([*stories, other], 5 * MINUTE)
    found = report([*stories, other])
    assert found.verdicts == []
    assert {each.namesrv: each.compared_with for each in found.name_servers} == {
        "ns-1": ["ns-2"], "ns-2": ["ns-1"], "west": [],
    }  # fmt: skip


def test_a_disagreement_is_found_in_each_cluster():
    east, west = fleet(2), [Story("west-1"), Story("west-2")]
    for story in west:
        story.registers("broker-a", "10.9.0.1:10911", ("orders",))
    east[1].deleted("payments")
    west[1].deleted("orders")
    align_ends([*east, *west])
    found = report([*east, *west])
    assert [(each.kind, each.topics, each.name_servers) for each in found.verdicts] == [
        (DriftKind.TOPIC_MISSING, ["orders"], ["west-1", "west-2"]),
        (DriftKind.TOPIC_MISSING, ["payments"], ["ns-1", "ns-2"]),
    ]


def test_a_name_server_remembers_its_cluster_for_seven_days():
    stories = fleet()
    for addr in list(stories[2].brokers):
        stories[2].connection_breaks(addr)
    for days, kinds in ((6, [DriftKind.NO_BROKERS]), (8, [])):
        end = max(story.now for story in stories) + days * DAY_MS
        for story in stories:
            story.later(end - story.now)
            story.alive()
        assert [each.kind for each in report(stories).verdicts] == kinds


def test_a_name_server_without_brokers_of_a_cluster_has_to_be_read_from_further_back():
    stories = fleet()
    empty = Story("ns-4")
    empty.alive()
    assert lacking_a_cluster([story.history() for story in [*stories, empty]]) == {"ns-4"}
    assert lacking_a_cluster([story.history() for story in stories]) == set()


def test_clusters_are_those_of_the_instant():
    stories = fleet(2)
    end = align_ends(stories)
    groups = compared([story.history() for story in stories], None)
    assert groups.at == end
    assert [[each.namesrv for each in cluster] for cluster in groups.clusters] == [["ns-1", "ns-2"]]
    assert A in set(groups.clusters[0][0].recent_addrs())


def test_two_networks_with_equal_addresses_are_told_apart_by_labels():
    """Without labels, each change in one of them is a difference from the other."""
    for labels, kinds in ((("", ""), [DriftKind.TOPIC_MISSING]), (("east", "west"), [])):
        east, west = fleet(2, labels[0]), fleet(2, labels[1], "west")
        for story in west:
            story.deleted("payments")
        align_ends([*east, *west])
        assert [each.kind for each in report([*east, *west]).verdicts] == kinds


def test_a_disagreement_within_a_label_is_found():
    east, west = fleet(2, "east"), fleet(2, "west", "west")
    west[1].deleted("payments")
    align_ends([*east, *west])
    (found,) = report([*east, *west]).verdicts
    assert (found.kind, found.name_servers) == (DriftKind.TOPIC_MISSING, ["west-1", "west-2"])
