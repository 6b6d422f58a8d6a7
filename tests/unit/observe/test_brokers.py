"""The brokers in an answer, and the events of clusters."""

from namekeeper.model.route import ClusterInfo
from namekeeper.observe.brokers import cluster_events, live_brokers
from namekeeper.route.events import ClusterChanged
from tests.unit.observe.test_tables import group


def test_live_brokers_are_those_of_an_answer():
    info = ClusterInfo({"a": group("a", "a:1", "a:2")}, {"c": ["a"]})
    assert live_brokers(info) == {("c", "a:1"), ("c", "a:2")}


def test_a_cluster_that_is_gone_has_no_names_and_one_that_stays_says_nothing():
    before = {"gone": frozenset("a"), "same": frozenset("b"), "other": frozenset("c")}
    after = {"same": frozenset("b"), "other": frozenset("d")}
    assert list(cluster_events(before, after)) == [
        ClusterChanged("gone", frozenset()),
        ClusterChanged("other", frozenset("d")),
    ]
