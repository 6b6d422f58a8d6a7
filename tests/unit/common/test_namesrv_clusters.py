"""Which name servers can be compared: those that the same brokers register with."""

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.namesrv_clusters import namesrv_clusters

ADDRS = st.frozensets(st.integers(0, 9).map(lambda number: f"10.0.0.{number}:10911"), max_size=3)


def clusters(**broker_addrs: str) -> list[str]:
    """The clusters of name servers with one letter, whose brokers have addresses with one letter."""
    return sorted({"".join(sorted(members)) for members in namesrv_clusters(broker_addrs).values()})


def test_name_servers_that_share_a_broker_belong_together():
    assert clusters(a="xy", b="yz", c="w") == ["ab", "c"]


def test_a_third_name_server_may_join_two_that_share_no_broker():
    assert clusters(a="x", b="z", c="xz") == ["abc"]
    assert clusters(a="x", c="xz", b="z") == ["abc"]


def test_a_name_server_without_brokers_belongs_to_the_only_cluster():
    assert clusters(a="x", b="x", c="") == ["abc"]
    assert clusters(a="", b="x") == ["ab"]


def test_a_name_server_without_brokers_is_alone_if_there_is_no_only_cluster():
    assert clusters(a="x", b="y", c="") == ["a", "b", "c"]


def test_name_servers_without_any_broker_belong_together():
    assert clusters(a="", b="") == ["ab"]
    assert namesrv_clusters({}) == {}


@given(st.dictionaries(st.sampled_from("abcdefgh"), ADDRS))
def test_clusters_are_the_connected_components(broker_addrs):
    found = namesrv_clusters(broker_addrs)
    reachable = {one: {one} for one in broker_addrs}
    for _ in broker_addrs:
        for members in reachable.values():
            addrs = frozenset[str]().union(*(broker_addrs[each] for each in members))
            members |= {other for other in broker_addrs if not addrs.isdisjoint(broker_addrs[other])}
    with_brokers = {one for one in broker_addrs if broker_addrs[one]}
    is_one = len({frozenset(reachable[one]) for one in with_brokers}) <= 1
    for one in broker_addrs:
        assert found[one] == (set(broker_addrs) if is_one else reachable[one])
