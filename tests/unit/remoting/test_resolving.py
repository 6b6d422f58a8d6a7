import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvloop

from namekeeper.errors import RemotingConnectError
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.resolving import NAMES_AT_ONCE, Resolver
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually, turns


class SlowNames:
    """A DNS that answers when it is told to; IP addresses take no time."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = threading.Event()
        self._real = socket.getaddrinfo

    def getaddrinfo(self, host: str, *args: Any, flags: int = 0, **more: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return self._real(host, *args, flags=flags, **more)
        self.asked.append(host)
        self.answers.wait()
        if host == "unknown":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        both = (socket.AF_INET6, ("fe80::1", 0, 0, 7)), (socket.AF_INET, ("10.0.0.1", 0))
        return [(family, socket.SOCK_STREAM, 6, "", address) for family, address in both]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowNames]:
    slow = SlowNames()
    monkeypatch.setattr(socket, "getaddrinfo", slow.getaddrinfo)
    yield slow
    slow.answers.set()


@both_loops
async def test_a_name_has_all_its_addresses_and_an_address_is_its_own(names: SlowNames) -> None:
    names.answers.set()
    resolver = Resolver()
    assert await resolver.addresses("broker-a") == ["fe80::1%7", "10.0.0.1"]
    assert await resolver.addresses("10.0.0.2") == ["10.0.0.2"]
    assert await resolver.addresses("::1") == ["::1"]
    assert names.asked == ["broker-a"]


async def test_aiohttp_gets_the_addresses_of_the_family_that_it_wants(names: SlowNames) -> None:
    names.answers.set()
    found = await Resolver().resolve("broker-a", 80, socket.AF_INET)
    assert [(entry["host"], entry["port"], entry["family"]) for entry in found] == [
        ("10.0.0.1", 80, socket.AF_INET)
    ]


async def test_a_name_that_nobody_has_is_an_error(names: SlowNames) -> None:
    names.answers.set()
    with pytest.raises(OSError, match="not known"):
        await Resolver().addresses("unknown")


@pytest.mark.parametrize("name", ["x" * 64, "a..b"])
async def test_a_name_that_the_dns_can_not_have_is_a_failed_connection(name: str) -> None:
    async with RemotingClient() as client:
        with pytest.raises(RemotingConnectError, match="no host name"):
            await client.invoke(f"{name}:1", 105)


async def test_few_names_are_asked_for_at_once_and_callers_may_give_up(names: SlowNames) -> None:
    resolver = Resolver()
    tasks = [asyncio.create_task(resolver.addresses(f"name-{n}")) for n in range(NAMES_AT_ONCE + 20)]
    await eventually(lambda: len(names.asked) == NAMES_AT_ONCE)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await turns()
    late = asyncio.create_task(resolver.addresses("late"))
    await turns()
    assert len(names.asked) == NAMES_AT_ONCE  # those who gave up before their turn left nothing behind
    names.answers.set()
    assert await late == ["fe80::1%7", "10.0.0.1"]
    assert names.asked[NAMES_AT_ONCE:] == ["late"]


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_end_of_the_loop_does_not_wait_for_a_slow_name(
    names: SlowNames, loop_factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def ask() -> None:
        async with RemotingClient() as client:
            with pytest.raises(RemotingConnectError):
                await client.invoke("slow:1", 105, timeout_ms=10)

    def run() -> None:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(ask())

    ended = threading.Thread(target=run, daemon=True)
    ended.start()
    ended.join(10 * PATIENCE)
    assert not ended.is_alive()
    assert names.asked == ["slow"]


@both_loops
async def test_names_that_get_no_thread_leave_the_others_their_slots(
    names: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    resolver = Resolver()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(NAMES_AT_ONCE + 1):
            with pytest.raises(OSError, match="can't start new thread"):
                await resolver.addresses("some.name")
    names.answers.set()
    assert await resolver.addresses("some.name") == ["fe80::1%7", "10.0.0.1"]
