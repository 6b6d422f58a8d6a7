"""The account of one connection without a connection; `test_connection` goes through both together."""

import asyncio
import tracemalloc
from sys import getsizeof

import pytest

from namekeeper.remoting import account as module
from namekeeper.remoting.account import (
    LARGE_FRAME_BYTES,
    MAX_PENDING,
    MAX_PENDING_BYTES,
    MAX_STALLS,
    PENDING_BYTES,
    Account,
)
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection_state import ARRIVING, FLOWING, HELD_UP
from namekeeper.remoting.unread import LISTS, QUEUED_BYTES
from namekeeper.remoting.unserved import MIN_COUNTED_BYTES, UnservedRequests
from namekeeper.route.channel import Channel
from namekeeper.wire.codec import decode_frame, encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, request
from namekeeper.wire.frames import FrameDecoder
from tests.support.system.waiting import eventually

SIZE = LARGE_FRAME_BYTES + 1
HOST = "192.0.2.1"
LIST = min(LISTS)
FIELDS = {"a": "bc"}
FIELDS_BYTES = getsizeof(FIELDS) + getsizeof("a") + getsizeof("bc")


class Peer:
    """A connection that does nothing itself."""

    def __init__(self) -> None:
        self.bytes_in = 0
        self.channel = Channel(1, f"{HOST}:5")
        self.has_broker = False
        self.went_on = 0
        self.is_overdue = False

    def go_on(self) -> None:
        self.went_on += 1

    def abort(self) -> None:
        raise AssertionError("nobody has too many bytes here")

    def close_overdue(self) -> None:
        self.is_overdue = True


@pytest.fixture
def peer() -> Peer:
    return Peer()


def opened(*, budget: BodyBudget | None = None, unserved: UnservedRequests | None = None) -> Account:
    return Account(budget or BodyBudget(10 * SIZE), unserved or UnservedRequests(), HOST)


def requests(*sizes: int) -> list[RemotingCommand]:
    return [request(103, FIELDS, b"x" * size) for size in sizes]


class TestPendingAnswers:
    def test_a_pending_answer_counts_until_it_is_given(self, peer: Peer) -> None:
        account = opened()
        first, second = requests(10, 20)
        for each in (first, second):
            account.add_pending(each)
        assert (len(account), account.pending_bytes) == (
            2,
            2 * (PENDING_BYTES + QUEUED_BYTES + FIELDS_BYTES) + 30,
        )
        account.settle(peer, first)
        assert (account.is_pending(first), account.is_pending(second)) == (False, True)
        assert account.pending_bytes == PENDING_BYTES + QUEUED_BYTES + FIELDS_BYTES + 20

    def test_a_request_without_its_body_holds_no_room(self, peer: Peer) -> None:
        budget = BodyBudget(10 * SIZE)
        account = opened(budget=budget)
        (listed,) = requests(SIZE)
        assert account.admits(peer, listed)
        listed.body = b""
        account.add_pending(listed)
        assert budget.in_flight == 0
        assert account.pending_bytes == PENDING_BYTES + QUEUED_BYTES + FIELDS_BYTES
        account.settle(peer, listed)
        assert account.pending_bytes == 0

    @pytest.mark.parametrize("form", SerializeType)
    @pytest.mark.parametrize("value", ["{}y", "{}\U0001f600"], ids=["ascii", "four_bytes_a_character"])
    def test_the_fields_of_a_request_count_with_the_memory_that_they_take(
        self, form: SerializeType, value: str
    ) -> None:
        fields = {f"{number:x}x": value.format(number) for number in range(900)}
        (frame,) = FrameDecoder().feed(encode_command(request(103, fields), form))
        tracemalloc.start()
        try:
            asked = [decode_frame(frame) for _ in range(10)]
            taken = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert 0.9 * taken <= opened().bytes_of(asked) <= 1.5 * taken  # others allocate meanwhile

    def test_many_answers_are_much(self) -> None:
        account = opened()
        some = requests(*[0] * MAX_PENDING)
        for each in some[1:]:
            account.add_pending(each)
        assert not account.is_much
        account.add_pending(some[0])
        assert account.is_much

    def test_a_few_large_requests_are_much(self) -> None:
        account = opened()
        one, other = requests(MAX_PENDING_BYTES // 2, MAX_PENDING_BYTES // 2)
        account.add_pending(one)
        assert not account.is_much
        account.add_pending(other)
        assert account.is_much

    def test_one_is_much_when_it_is_tight_and_none_never(self, peer: Peer) -> None:
        unserved = UnservedRequests(2 * MIN_COUNTED_BYTES)
        unserved.keep(peer, "198.51.100.1", 2 * MIN_COUNTED_BYTES)
        account = opened(unserved=unserved)
        assert not account.is_much
        (one,) = requests(0)
        account.add_pending(one)
        assert account.is_much

    def test_a_list_is_pending_until_its_answer_is_given(self, peer: Peer) -> None:
        account = opened()
        listing, (other,) = request(LIST, {}), requests(0)
        account.add_pending(listing)
        account.add_pending(other)
        account.settle(peer, other)
        assert account.has_list
        account.settle(peer, listing)
        assert not account.has_list

    def test_an_answer_that_is_given_leaves_the_bytes_of_the_host_at_once(self, peer: Peer) -> None:
        unserved = UnservedRequests()
        account = opened(unserved=unserved)
        (one,) = requests(0)
        account.add_pending(one)
        account.count(peer, account.pending_bytes + MIN_COUNTED_BYTES)
        account.settle(peer, one)
        assert account.counted == unserved.bytes == MIN_COUNTED_BYTES


class TestLargeFrames:
    async def test_a_small_frame_needs_no_claim(self, peer: Peer) -> None:
        budget = BodyBudget(SIZE)
        account = opened(budget=budget)
        assert account.arrive(peer, LARGE_FRAME_BYTES, 1) is FLOWING
        assert account.admits(peer, requests(LARGE_FRAME_BYTES)[0])
        assert budget.in_flight == 0

    async def test_a_claim_goes_with_its_frame_from_arrival_to_answer(self, peer: Peer) -> None:
        budget = BodyBudget(10 * SIZE)
        account, (one,) = opened(budget=budget), requests(SIZE)
        assert account.arrive(peer, SIZE, 30) is ARRIVING
        assert account.is_admitted
        account.complete(one)
        assert (account.is_admitted, account.keeps_waiting(one), budget.in_flight) == (False, False, SIZE)
        account.add_pending(one)
        account.release_answered([one])
        assert budget.in_flight == SIZE
        account.settle(peer, one)
        assert budget.in_flight == 0

    async def test_a_request_that_was_answered_at_once_leaves_the_budget(self, peer: Peer) -> None:
        budget = BodyBudget(10 * SIZE)
        account, (one,) = opened(budget=budget), requests(SIZE)
        assert account.admits(peer, one)
        account.release_answered([one])
        assert budget.in_flight == 0

    async def test_a_request_is_held_back_until_its_claim_is_granted(self, peer: Peer) -> None:
        budget = BodyBudget(SIZE)
        first, second, (one,) = opened(budget=budget), opened(budget=budget), requests(SIZE)
        other = Peer()
        assert first.arrive(other, SIZE, 30) is ARRIVING
        assert second.arrive(peer, SIZE, 30) is HELD_UP
        second.complete(one)
        assert second.keeps_waiting(one)
        assert not second.admits(peer, one)
        first.give_back(other)
        assert (second.keeps_waiting(one), peer.went_on, other.went_on) == (False, 1, 0)

    async def test_what_a_claim_counts_is_not_counted_twice(self, peer: Peer) -> None:
        account = opened(budget=BodyBudget(SIZE))
        granted, waiting = requests(SIZE, SIZE)
        assert account.admits(peer, granted)
        assert not account.admits(peer, waiting)
        assert account.bytes_of([granted]) == QUEUED_BYTES + FIELDS_BYTES
        assert account.bytes_of([waiting]) == QUEUED_BYTES + SIZE + FIELDS_BYTES
        assert account.bytes_of([b"answer", (0, b"head", b"body")]) == 2 * QUEUED_BYTES
        long = b"x" * (QUEUED_BYTES + 1)
        assert account.bytes_of([long, (0, b"head", long)]) == 2 * QUEUED_BYTES + 6

    async def test_a_frame_that_was_not_admitted_is_not_watched(self, peer: Peer) -> None:
        budget = BodyBudget(SIZE)
        budget.ask(SIZE, lambda: None)
        account = opened(budget=budget)
        account.arrive(peer, SIZE, 0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not peer.is_overdue

    async def test_a_frame_that_does_not_arrive_in_time_is_overdue_and_its_bytes_are_free(self, peer: Peer):
        budget = BodyBudget(SIZE)
        opened(budget=budget).arrive(peer, SIZE, 0.001)
        await eventually(lambda: peer.is_overdue)
        assert budget.in_flight == 0

    @pytest.mark.parametrize("others_wait", [True, False])
    async def test_a_silent_sender_is_overdue_early_only_while_others_wait(
        self, monkeypatch, peer: Peer, others_wait: bool
    ):
        monkeypatch.setattr(module, "ARRIVAL_LOOK_SECONDS", 0.001)
        budget = BodyBudget(SIZE)
        account = opened(budget=budget)
        looks = 0
        look = Account._look

        def counting(*arguments: object) -> None:
            nonlocal looks
            looks += 1
            look(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(Account, "_look", counting)
        account.arrive(peer, SIZE, 3600 if others_wait else 0.001 * (MAX_STALLS + 3))
        if others_wait:
            budget.ask(SIZE, lambda: None)
        await eventually(lambda: peer.is_overdue)
        assert (looks <= MAX_STALLS) is others_wait


async def test_at_the_end_everything_is_given_back_at_once(peer: Peer):
    budget, unserved = BodyBudget(3 * SIZE), UnservedRequests()
    account = opened(budget=budget, unserved=unserved)
    pending, waiting = requests(SIZE, SIZE)
    assert account.admits(peer, pending)
    account.add_pending(pending)
    account.add_pending(request(LIST, {}))
    assert account.admits(peer, waiting)
    assert account.arrive(peer, SIZE, 0) is ARRIVING
    account.count(peer, SIZE)
    assert (budget.in_flight, unserved.bytes) == (3 * SIZE, SIZE)
    for _ in range(2):
        account.give_back(peer)
        assert (budget.in_flight, budget.waiting, unserved.bytes, account.counted) == (0, 0, 0, 0)
        assert (len(account), account.pending_bytes, account.has_list) == (0, 0, False)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not peer.is_overdue
