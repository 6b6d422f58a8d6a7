"""Turns that hosts share."""

import asyncio

from namekeeper.http.host_turns import HostTurns
from tests.support.system.waiting import eventually


async def take_turn(turns: HostTurns, host: str, begun: list[str], end: asyncio.Event) -> None:
    async with turns.of(host):
        begun.append(host)
        await end.wait()


async def test_a_host_with_many_requests_leaves_a_turn_to_another_host():
    turns, begun, end = HostTurns(2), [], asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for host in ("a", "a", "a", "b", "c"):
            group.create_task(take_turn(turns, host, begun, end))
        await eventually(lambda: len(begun) == 2)
        assert begun == ["a", "b"]
        end.set()
    assert begun == ["a", "b", "c", "a", "a"]


async def test_a_request_that_is_cancelled_gives_its_turn_back():
    turns, begun, end = HostTurns(1), [], asyncio.Event()
    first, second = (asyncio.create_task(take_turn(turns, host, begun, end)) for host in ("a", "b"))
    await eventually(lambda: begun == ["a"])
    first.cancel()
    await eventually(lambda: begun == ["a", "b"])
    end.set()
    await second
