"""Claims of one connection without a connection; `test_connection` goes through both together."""

import asyncio

import pytest

from namekeeper.remoting import large_frames
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.large_frames import MAX_STALLS, LargeFrames
from namekeeper.route.channel import Channel
from namekeeper.wire.command import RemotingCommand
from tests.support.system.waiting import eventually

SIZE = 100_000


class SilentSender:
    """A peer that sends nothing more of its frame."""

    def __init__(self) -> None:
        self.bytes_in = 0
        self.channel = Channel(1, "192.0.2.1:5")
        self.is_overdue = False

    def close_overdue(self) -> None:
        self.is_overdue = True


def admitted(budget: BodyBudget) -> LargeFrames:
    large = LargeFrames()
    large.arriving = budget.ask(SIZE, lambda: None)
    return large


def request() -> RemotingCommand:
    return RemotingCommand(code=103, body=b"")


async def test_a_claim_goes_with_its_frame_from_arrival_to_answer():
    budget = BodyBudget(10 * SIZE)
    large, one = admitted(budget), request()
    assert large.is_admitted
    large.complete(one)
    assert (large.arriving, large.keeps_waiting(one), budget.in_flight) == (None, False, SIZE)
    large.release_answered([one], owed={id(one)})
    assert budget.in_flight == SIZE
    large.release_answered([one], owed=())
    assert budget.in_flight == 0


async def test_a_request_is_held_back_until_its_claim_is_granted():
    budget = BodyBudget(SIZE)
    first, second, one = admitted(budget), admitted(budget), request()
    assert not second.is_admitted
    second.complete(one)
    assert second.keeps_waiting(one)
    first.release_all()
    assert not second.keeps_waiting(one)


async def test_a_frame_that_was_not_admitted_is_not_watched():
    budget = BodyBudget(SIZE)
    _first, second = admitted(budget), admitted(budget)
    second.watch(SilentSender(), 0)
    assert second._timer is None


async def test_a_frame_that_does_not_arrive_in_time_is_overdue_and_its_bytes_are_free():
    budget = BodyBudget(SIZE)
    large, sender = admitted(budget), SilentSender()
    large.watch(sender, 0.001)
    await eventually(lambda: sender.is_overdue)
    assert budget.in_flight == 0


@pytest.mark.parametrize("others_wait", [True, False])
async def test_a_silent_sender_is_overdue_early_only_while_others_wait(monkeypatch, others_wait):
    monkeypatch.setattr(large_frames, "ARRIVAL_LOOK_SECONDS", 0.001)
    budget = BodyBudget(SIZE)
    large, sender = admitted(budget), SilentSender()
    if others_wait:
        budget.ask(SIZE, lambda: None)
    large.watch(sender, 3600 if others_wait else 0.001 * (MAX_STALLS + 3))
    looks = 0
    look = LargeFrames._look

    def counting(*arguments: object) -> None:
        nonlocal looks
        looks += 1
        look(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LargeFrames, "_look", counting)
    await eventually(lambda: sender.is_overdue)
    assert (looks <= MAX_STALLS) is others_wait


async def test_whoever_closes_is_not_watched_any_more():
    budget = BodyBudget(SIZE)
    large, sender = admitted(budget), SilentSender()
    large.watch(sender, 0)
    large.release_all()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (sender.is_overdue, budget.in_flight) == (False, 0)
