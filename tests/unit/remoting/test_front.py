"""Sockets that are lent, and how they come back."""

import sys
from types import SimpleNamespace

import pytest

from namekeeper.remoting.front import INTERFACE, Front, Returned, load_front
from tests.support.system.waiting import eventually
from tests.unit.remoting.fake_front import FakeNative


class Borrower:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.fails = False

    def returned(self, returned: Returned) -> None:
        if self.fails:
            raise ValueError("a bug")
        self.told.append(returned)

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        self.told.append((bytes_in, bytes_out))

    def abort(self) -> None:
        self.told.append("aborted")


@pytest.fixture
def native():
    return FakeNative()


@pytest.fixture
async def front(native):
    front = Front(native)
    front.start()
    yield front
    front.close()


async def test_a_socket_comes_back_with_what_was_not_served(front, native):
    borrower = Borrower()
    loan = front.lend(borrower, 5)
    assert (native.lent, len(front), front.loans) == ({loan: 5}, 1, 1)
    native.give_back(loan, b"unread", b"unsent", bytes_in=3, bytes_out=4)
    await eventually(lambda: borrower.told)
    assert borrower.told == [Returned(loan, b"unread", b"unsent", 3, 4, is_broken=False)]
    assert len(front) == 0


async def test_a_loan_can_be_ended_and_then_nobody_hears_of_it(front, native):
    borrower, other = Borrower(), Borrower()
    loan = front.lend(borrower, 5)
    native.give_back(loan, b"unread")
    assert front.take_back(loan).unread == b"unread"
    assert front.take_back(loan) is None
    native.give_back(front.lend(other, 6))
    await eventually(lambda: other.told)
    assert borrower.told == []


async def test_without_descriptors_nothing_is_lent(front, native):
    native.is_full = True
    assert front.lend(Borrower(), 5) == 0
    assert (len(front), front.loans) == (0, 0)


async def test_lent_connections_know_their_bytes(front, native):
    borrower = Borrower()
    loan = front.lend(borrower, 5)
    native.moved = [(loan, 10, 20), (loan + 1, 1, 1)]
    front.note_moved()
    assert borrower.told == [(10, 20)]


async def test_a_connection_that_fails_keeps_no_other_from_going_on(front, native, caplog):
    bad, good = Borrower(), Borrower()
    bad.fails = True
    loans = [front.lend(borrower, 5) for borrower in (bad, good)]
    for loan in loans:
        native.give_back(loan)
    await eventually(lambda: good.told)
    assert bad.told == ["aborted"]
    assert "its connection failed" in caplog.text


async def test_everything_comes_back_at_the_end(native):
    front = Front(native)
    front.start()
    borrower = Borrower()
    front.lend(borrower, 5)
    front.close()
    front.close()
    assert native.is_stopped
    assert len(borrower.told) == 1


def test_without_the_package_there_is_no_front(monkeypatch):
    monkeypatch.setitem(sys.modules, "namekeeper_front", None)
    assert load_front() is None


@pytest.mark.parametrize("given", [{}, {"INTERFACE": INTERFACE + 1}])
def test_a_package_of_another_version_is_not_used(monkeypatch, caplog, given):
    monkeypatch.setitem(sys.modules, "namekeeper_front", SimpleNamespace(**given))
    assert load_front() is None
    assert "is of another version than this server" in caplog.text


def test_the_front_answers_as_the_cache_does(monkeypatch):
    """Around the opaque, byte for byte."""
    made = []
    module = SimpleNamespace(INTERFACE=INTERFACE, Front=lambda *parts: made.append(parts) or FakeNative())
    monkeypatch.setitem(sys.modules, "namekeeper_front", module)
    front = load_front()
    assert front is not None
    front.close()
    ((head, tail, _),) = made
    assert head.startswith(b'{"code":0,')
    assert head.endswith(b'"opaque":')
    assert tail.startswith(b",")
