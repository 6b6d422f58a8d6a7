"""The past as a name server, over a socket."""

import asyncio
import os
import signal

import pytest

from namekeeper.app.past import PastNameServer, run_past
from namekeeper.app.requests import Requests
from namekeeper.errors import ConfigError
from namekeeper.journal.reading.replay import state_at
from namekeeper.processor.past import past_state
from namekeeper.remoting.address import Address
from namekeeper.remoting.client import RemotingClient
from tests.support.journal.folder import read_records
from tests.support.wire.ask import Answer, ask
from tests.unit.answers.story import Story

REMARK = "this is the past: ns_9876 at some time"


def server(story: Story | None) -> PastNameServer:
    state = None
    if story is not None:
        found = state_at(read_records(story.journal.lines())).state
        state = past_state(found.tables, found.kv, found.properties)
    return PastNameServer(state, REMARK, host="127.0.0.1", port=0)


@pytest.fixture
def story() -> Story:
    incident = Story()
    incident.registers()
    return incident


async def asked(past: PastNameServer, code: int, **fields: str) -> Answer:
    return await asyncio.to_thread(ask, str(past.address), code, **fields)


async def test_a_read_request_is_answered_from_the_tables_as_they_were(story):
    async with server(story) as past:
        route = (await asked(past, 105, topic="T")).json()
        assert [each["brokerName"] for each in route["queueDatas"]] == ["b0"]
        assert (await asked(past, 105, topic="U")).code == 17
        assert set((await asked(past, 206)).json()["topicList"]) == {"T", "other", "more"}
        assert (await asked(past, 106)).json()["clusterAddrTable"] == {"c": ["b0"]}


async def test_an_equal_lookup_is_answered_from_the_cache(story):
    async with server(story) as past:
        context = past._server._context
        cache = context.answering.lookup_cache
        assert cache is not None
        async with RemotingClient() as client:
            fields = {"topic": "T"}
            routes = [
                await client.invoke(str(past.address), 105, fields, timeout_ms=200_000) for _ in range(3)
            ]
        assert len({route.body for route in routes}) == 1
        assert (cache.found, cache.missed) == (2, 1)


async def test_lookups_that_take_long_wait_apart(story):
    async with server(story) as past:
        assert past._server._context.hooks.takes_long.__func__ is Requests.takes_long


async def test_a_change_is_refused_with_16_and_the_instant_and_changes_nothing(story):
    fields = {"namespace": "s", "key": "k", "value": "v"}
    async with server(story) as past:
        refused = await asked(past, 100, **fields)
        assert (refused.code, refused.remark) == (16, REMARK)
        assert (await asked(past, 101, namespace="s", key="k")).code == 22
        assert (await asked(past, 205, brokerName="b0")).code == 16
        assert (await asked(past, 105, topic="T")).json()["queueDatas"][0]["perm"] == 6


async def test_a_code_that_no_name_server_knows_is_answered_as_ever(story):
    async with server(story) as past:
        assert (await asked(past, 4_711)).code == 3


async def test_without_a_state_every_request_is_answered_with_the_reason():
    async with server(None) as past:
        for code in (105, 106, 206, 100):
            answer = await asked(past, code, topic="T")
            assert (answer.code, answer.remark) == (1, REMARK)


async def test_nothing_expires_with_time(story):
    """There is no housekeeping: the brokers of years ago stay."""
    before = asyncio.all_tasks()
    async with server(story) as past:
        assert asyncio.all_tasks() == before
        assert (await asked(past, 106)).json()["brokerAddrTable"]


async def test_it_serves_until_it_is_told_to_stop(story):
    heard = []

    def listening(address: Address) -> None:
        heard.append(address)
        os.kill(os.getpid(), signal.SIGTERM)

    await run_past(server(story), listening)
    assert len(heard) == 1
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(ask, str(heard[0]), 106)


async def test_an_address_that_is_taken_is_refused(story):
    async with server(story) as past:
        with pytest.raises(ConfigError):
            await PastNameServer(None, REMARK, host="127.0.0.1", port=past.address.port).__aenter__()
