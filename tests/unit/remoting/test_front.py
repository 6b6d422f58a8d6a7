"""Sockets that are lent, and how they come back."""

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from namekeeper import __version__
from namekeeper.remoting.front import LOANS_ENDED_AT_ONCE, Front, Returned, load_front
from tests.support.system.waiting import eventually, turns
from tests.unit.remoting.fake_front import FakeNative


class Borrower:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.fails = False
        self.loan = 0
        self.front: Front | None = None

    def end_loan(self) -> None:
        if self.fails:
            raise ValueError("a bug")
        assert self.front is not None
        self.front.take_back(self.loan)
        self.told.append("ended")

    def returned(self, returned: Returned) -> None:
        if self.fails:
            raise ValueError("a bug")
        self.told.append(returned)

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        self.told.append((bytes_in, bytes_out))

    def abort(self, _why: object = None) -> None:
        self.told.append("aborted")


@pytest.fixture
def native():
    return FakeNative()


@pytest.fixture
async def front(native):
    front = Front(native)
    front.start(lambda: 40 - len(front))
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


def lent(front: Front, count: int) -> list[Borrower]:
    """Borrowers of as many loans."""
    borrowers = [Borrower() for _ in range(count)]
    for borrower in borrowers:
        borrower.front, borrower.loan = front, front.lend(borrower, 5)
    return borrowers


async def test_when_descriptors_get_scarce_the_quietest_loans_end(front, native):
    borrowers = lent(front, 40)
    busy, *quiet = borrowers
    assert front.lend(Borrower(), 5) == 0
    assert not front.keep_descriptors_free()
    native.moved = [(busy.loan, 1, 1)]
    await eventually(lambda: len(front) < 40)
    assert [each for each in borrowers if "ended" in each.told] == quiet[:LOANS_ENDED_AT_ONCE]
    assert len(native.lent) == 40 - LOANS_ENDED_AT_ONCE
    assert front.lend(Borrower(), 5)


async def test_while_there_is_room_no_loan_ends(front):
    borrowers = lent(front, 39)
    assert front.keep_descriptors_free()
    await turns(3)
    assert [each.told for each in borrowers] == [[]] * 39


async def test_a_connection_that_fails_when_its_loan_ends_keeps_no_other_from_it(front):
    borrowers = lent(front, 40)
    borrowers[0].fails = True
    front.keep_descriptors_free()
    await eventually(lambda: borrowers[1].told)
    assert (borrowers[0].told, borrowers[1].told) == (["aborted"], ["ended"])


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
    front.start(lambda: 1)
    borrower = Borrower()
    front.lend(borrower, 5)
    front.close()
    front.close()
    assert native.is_stopped
    assert len(borrower.told) == 1


def test_without_the_package_there_is_no_front(monkeypatch):
    monkeypatch.setitem(sys.modules, "namekeeper_front", None)
    assert load_front() is None


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("namekeeper_front.abi3.so", b"of another machine"),
        ("namekeeper_front.py", b"import namekeeper_front_library"),  # which is missing
    ],
)
def test_a_package_that_can_not_be_loaded_is_not_used_and_the_log_says_why(
    monkeypatch, tmp_path, caplog, file, content
):
    (tmp_path / file).write_bytes(content)
    monkeypatch.delitem(sys.modules, "namekeeper_front", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_front() is None
    (text,) = caplog.messages
    assert text.startswith("the installed namekeeper-front can't be loaded, so it is not used: ")
    assert "namekeeper_front" in text.partition(": ")[2]


@pytest.mark.parametrize("given", [{}, {"INTERFACE": 6}, {"__version__": f"{__version__}.1"}])
def test_a_package_of_another_version_is_not_used(monkeypatch, caplog, given):
    monkeypatch.setitem(sys.modules, "namekeeper_front", SimpleNamespace(**given))
    assert load_front() is None
    assert "is of another version than this server" in caplog.text


def test_the_package_has_the_version_of_the_server():
    cargo = tomllib.loads((Path(__file__).parents[3] / "native" / "Cargo.toml").read_text())
    assert cargo["package"]["version"] == __version__


def test_the_front_answers_as_the_cache_does(monkeypatch):
    """Around the opaque, byte for byte."""
    made = []
    module = SimpleNamespace(__version__=__version__, Front=lambda *parts: made.append(parts) or FakeNative())
    monkeypatch.setitem(sys.modules, "namekeeper_front", module)
    front = load_front()
    assert front is not None
    front.close()
    ((head, tail, _),) = made
    assert head.startswith(b'{"code":0,')
    assert head.endswith(b'"opaque":')
    assert tail.startswith(b",")
