"""Look-ups and changes while a server is killed and comes back: what clients see of each boot is one history.

A boot begins with what its journal has, which may be less than was answered. From the first registration that a boot
has answered on, nothing older is seen.
"""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.process.running import NameServerProcess
from tests.support.server.histories import TOPICS, WRITES, Histories
from tests.support.system.processes import free_port
from tests.support.system.waiting import eventually

FRONTS = ["python", *(["native"] if find_spec("namekeeper_front") else [])]
BOOTS = 3


async def killed(server: NameServerProcess, histories: Histories) -> None:
    """Kill the server while clients look up and brokers change their topics."""

    async def kill() -> None:
        await eventually(
            lambda: min(len(histories.writes[topic]) for topic in TOPICS) >= WRITES // 2, within_seconds=60
        )
        server.kill()

    async with asyncio.TaskGroup() as everybody:
        everybody.create_task(kill())
        everybody.create_task(ended(histories))


async def ended(histories: Histories) -> None:
    """Everybody loses the connection."""
    with pytest.raises(ExceptionGroup) as lost:
        await histories.run()
    assert lost.value.split(ConnectionError)[1] is None, lost.value


@pytest.mark.parametrize("front", FRONTS)
async def test_each_boot_has_one_history(tmp_path: Path, front: str):
    port, first = str(free_port()), 0
    for _ in range(BOOTS):
        with NameServerProcess(tmp_path, listen_port=port, front=front) as server:
            await asyncio.to_thread(server.started)
            histories = Histories(server.address, first=first)
            await killed(server, histories)
        assert histories.violations() == []
        for topic in TOPICS:
            assert len(histories.reads[topic]) > WRITES
        first = 1 + max(write.value for topic in TOPICS for write in histories.writes[topic])
