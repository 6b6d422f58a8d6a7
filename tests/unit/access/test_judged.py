from namekeeper.access.judged import NAMES_LIMIT, TEXT_LIMIT, about
from namekeeper.access.names import NO_NAMES, Names


def test_what_a_request_names_with_its_kind():
    names = Names(frozenset("c"), frozenset(("b", "a")), frozenset(("T",)), frozenset(("n",)))
    assert about(names) == ["clusters=c", "brokers=a", "brokers=b", "topics=T", "namespaces=n"]
    assert about(NO_NAMES) == []


def test_it_is_bounded():
    names = Names(brokers=frozenset(map(str, range(100))), topics=frozenset(("x" * 1_000,)))
    assert len(about(names)) == NAMES_LIMIT
    assert about(Names(topics=names.topics)) == ["topics=" + "x" * TEXT_LIMIT]
