import pytest

from namekeeper.access.judged import (
    NAMES_LIMIT,
    TEXT_LIMIT,
    about,
    is_refusal_by_rules,
    refusal_of,
    subject_of,
)
from namekeeper.access.names import NO_NAMES, Names
from namekeeper.access.rules import REFUSED_BY_DEFAULT, Decision


def test_what_a_request_names_with_its_kind():
    names = Names(frozenset("c"), frozenset(("b", "a")), frozenset(("T",)), frozenset(("n",)))
    assert about(names) == ["clusters=c", "brokers=a", "brokers=b", "topics=T", "namespaces=n"]
    assert about(NO_NAMES) == []


def test_it_is_bounded():
    names = Names(brokers=frozenset(map(str, range(100))), topics=frozenset(("x" * 1_000,)))
    assert len(about(names)) == NAMES_LIMIT
    assert about(Names(topics=names.topics)) == ["topics=" + "x" * TEXT_LIMIT]


def test_two_long_subjects_with_the_same_beginning_are_not_the_same_owner():
    """protectBrokerNames let one certificate take the broker of another."""
    same = "CN=" + "x" * 60_000
    first, second = subject_of([same + "1"]), subject_of([same + "2"])
    assert first != second
    assert len(first) == len(second) == TEXT_LIMIT
    assert subject_of([same[:TEXT_LIMIT], "DNS:a"]) == same[:TEXT_LIMIT]
    assert subject_of([]) == ""


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (REFUSED_BY_DEFAULT, "refused: no rule covers it"),
        (Decision(allowed=False, rule="no admin"), "refused by rule 'no admin'"),
    ],
)
def test_a_refusal_in_words_is_known_again(decision, words):
    assert refusal_of(decision) == words
    assert is_refusal_by_rules(words)


@pytest.mark.parametrize("reason", ["refused: the disk is full", "not allowed here", ""])
def test_what_something_else_refused_is_no_refusal_by_rules(reason):
    assert not is_refusal_by_rules(reason)


def test_what_journals_of_before_say_is_a_refusal_by_rules():
    assert is_refusal_by_rules("refused by no rule: none covers it")
