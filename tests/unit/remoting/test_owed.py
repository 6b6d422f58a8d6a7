"""A connection waits for so many answers, and for requests of so many bytes."""

from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.owed import MAX_OWED, MAX_OWED_BYTES, OWED_BYTES, OwedAnswers, bytes_of
from namekeeper.remoting.unread import QUEUED_BYTES
from namekeeper.wire.command import RemotingCommand, request


def requests(*sizes: int) -> list[RemotingCommand]:
    return [request(103, {"a": "bc"}, b"x" * size) for size in sizes]


def test_what_is_owed_is_counted_until_it_is_given() -> None:
    owed = OwedAnswers()
    first, second = requests(10, 20)
    for each in (first, second):
        owed.add(each, {})
    assert (len(owed), owed.bytes) == (2, 2 * (OWED_BYTES + QUEUED_BYTES + 3) + 30)
    assert owed.remove(id(first))
    assert not owed.remove(id(first))
    assert id(first) not in owed
    assert id(second) in owed
    owed.clear()
    assert (len(owed), owed.bytes) == (0, 0)


def test_many_answers_are_much() -> None:
    owed = OwedAnswers()
    some = requests(*[0] * MAX_OWED)
    for each in some[1:]:
        owed.add(each, {})
    assert not owed.is_much(is_tight=False)
    owed.add(some[0], {})
    assert owed.is_much(is_tight=False)


def test_a_few_large_requests_are_much() -> None:
    owed = OwedAnswers()
    one, other = requests(MAX_OWED_BYTES // 2, MAX_OWED_BYTES // 2)
    owed.add(one, {})
    assert not owed.is_much(is_tight=False)
    owed.add(other, {})
    assert owed.is_much(is_tight=False)


def test_one_is_much_when_it_is_tight_and_none_never() -> None:
    owed = OwedAnswers()
    assert not owed.is_much(is_tight=True)
    (one,) = requests(0)
    owed.add(one, {})
    assert owed.is_much(is_tight=True)


def test_what_a_claim_counts_is_not_counted_twice() -> None:
    budget = BodyBudget(100)
    granted, waiting = requests(80, 80)
    claims = {id(each): budget.ask(80, list) for each in (granted, waiting)}
    assert bytes_of([granted], claims) == QUEUED_BYTES
    assert bytes_of([waiting], claims) == QUEUED_BYTES + 80 + 3
    assert bytes_of([b"answer", (0, b"head", b"body")], claims) == QUEUED_BYTES + 8
