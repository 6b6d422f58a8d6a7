import pytest

from namekeeper.access.names import NAMED, NO_NAMES, Names, names_in
from namekeeper.messages.catalogue import NameKind

FIELDS = {
    "clusterName": "c", "cluster": "c2", "brokerName": "b", "topic": "t", "namespace": "n", "key": "k", "": "?",
}  # fmt: skip


@pytest.mark.parametrize(
    ("codes", "names"),
    [
        ((103, 104, 322, 904, 901), Names(clusters=frozenset("c"), brokers=frozenset("b"))),
        ((100, 101, 102, 219), Names(namespaces=frozenset("n"))),
        ((205, 327), Names(brokers=frozenset("b"))),
        ((216,), Names(clusters=frozenset("c"), topics=frozenset("t"))),
        ((105, 217), Names(topics=frozenset("t"))),
        ((224,), Names(clusters=frozenset(("c2",)))),
        ((106, 206, 304, 311, 312, 313, 318, 319, 4711), NO_NAMES),
    ],
)
def test_the_names_in_the_fields(codes: tuple[int, ...], names: Names):
    for code in codes:
        assert names_in(code, FIELDS) == names, code


def test_a_field_that_is_missing_or_empty_names_nothing():
    assert names_in(105, None) == names_in(105, {}) == names_in(105, {"topic": ""}) == NO_NAMES


def test_each_kind_has_its_names():
    names = Names(*(frozenset((kind.value,)) for kind in NameKind))
    assert {kind: names.of(kind) for kind in NameKind} == {
        kind: frozenset((kind.value,)) for kind in NameKind
    }
    assert {kind for kinds in NAMED.values() for kind in kinds} == set(NameKind)
