"""Which name servers can be compared: those with one label, or that the same brokers register with."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.namesrv_clusters import is_valid_label, namesrv_clusters

ADDRS = st.frozensets(st.integers(0, 9).map(lambda number: f"10.0.0.{number}:10911"), max_size=3)


def clusters(labels: Mapping[str, str] | None = None, /, **broker_addrs: str) -> list[str]:
    """The clusters of name servers with one letter, whose brokers have addresses with one letter."""
    found = namesrv_clusters(broker_addrs, labels or {})
    return sorted({"".join(sorted(members)) for members in found.values()})


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


def test_labels_part_name_servers_whose_brokers_have_equal_addresses():
    labels = {"a": "east", "b": "east", "c": "west"}
    assert clusters(labels, a="x", b="x", c="x") == ["ab", "c"]
    assert clusters(labels, c="x", b="x", a="x") == ["ab", "c"]


def test_name_servers_with_one_label_belong_together_without_a_shared_broker():
    assert clusters({"a": "east", "b": "east"}, a="x", b="y") == ["ab"]
    assert clusters({"a": "east", "b": "east", "c": "west"}, a="x", b="", c="y") == ["ab", "c"]


def test_a_name_server_without_a_label_belongs_to_the_one_label_that_it_shares_a_broker_with():
    labels = {"a": "east", "b": "west"}
    assert clusters(labels, a="x", b="y", c="xz") == ["ac", "b"]
    assert clusters(labels, a="x", b="y", c="z", d="zx") == ["acd", "b"]
    assert clusters(labels, a="x", b="y", c="z") == ["a", "b", "c"]


def test_a_name_server_without_a_label_joins_no_two_labels():
    labels = {"a": "east", "b": "west"}
    assert clusters(labels, a="x", b="y", c="xy") == ["a", "b", "c"]
    assert clusters(labels, c="xy", a="x", b="y", d="y") == ["a", "b", "cd"]


def test_a_name_server_without_label_and_brokers_belongs_to_the_only_label():
    assert clusters({"a": "east", "b": "east"}, a="x", b="y", c="") == ["abc"]
    assert clusters({"a": "east", "b": "west"}, a="x", b="x", c="") == ["a", "b", "c"]


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), ADDRS),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["", "east", "west"])),
)
def test_a_cluster_has_one_label_at_most_and_a_label_one_cluster(broker_addrs, labels):
    found = namesrv_clusters(broker_addrs, labels)
    assert found.keys() == broker_addrs.keys()
    for one, members in found.items():
        assert one in members
        assert all(found[other] == members for other in members)
        label = labels.get(one, "")
        assert not label or members.isdisjoint(
            each for each in found if labels.get(each, "") not in {"", label}
        )
        assert not label or members.issuperset(each for each in found if labels.get(each, "") == label)


@given(
    st.dictionaries(st.sampled_from("abcd"), ADDRS),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xy")),
)
def test_the_order_of_name_servers_does_not_matter(broker_addrs, labels):
    turned = dict(reversed(broker_addrs.items()))
    assert namesrv_clusters(broker_addrs, labels) == namesrv_clusters(turned, labels)


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("east", True),
        ("eu-1.prod_2", True),
        ("", False),
        (".east", False),
        ("a--b", False),
        ("a b", False),
        ("é", False),
    ],
)
def test_a_label_can_be_a_part_of_a_file_name(text, is_valid):
    assert is_valid_label(text) is is_valid
