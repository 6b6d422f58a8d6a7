"""Registering a broker with every name server, without a network."""

import asyncio

import pytest

from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.errors import RemotingConnectError, ResponseError
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.topic import TopicConfig
from namekeeper.wire.command import RemotingCommand
from tests.support.builders import header

BODY = RegisterBrokerBody(topics=(TopicConfig("T1"), TopicConfig("T2")))


class FakeClient:
    """Answers by address; an exception is raised."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def invoke(self, addr, code, ext_fields=None, body=b"", *, timeout_ms):
        self.asked.append((addr, code, ext_fields, body))
        await asyncio.sleep(0)
        answer = self.answers[addr]
        if isinstance(answer, Exception):
            raise answer
        return answer


def registrar(client, **more):
    return BrokerRegistrar(client, list(client.answers), header(**more))


async def test_every_name_server_gets_the_same_bytes_at_once():
    client = FakeClient(a=RemotingCommand(), b=RemotingCommand())
    results = await registrar(client).register_broker_all(BODY)
    assert [(result.namesrv_addr, result.error) for result in results] == [("a", None), ("b", None)]
    (_, *first), (_, *second) = client.asked
    assert first == second
    assert first[0] == 103


async def test_a_dead_name_server_takes_nothing_from_the_others():
    dead = RemotingConnectError("a", "refused")
    answer = RemotingCommand(
        ext_fields={"masterAddr": "m:1", "haServerAddr": "m:2"}, body=b'{"table":{"T1":"x:4"}}'
    )
    client = FakeClient(a=dead, b=answer)
    first, second = await registrar(client, broker_id=1).register_broker_all(BODY)
    assert first.error is dead
    assert (second.master_addr, second.ha_server_addr) == ("m:1", "m:2")
    assert second.order_topic_config == {"T1": "x:4"}


async def test_a_refusal_is_a_result_with_its_code():
    client = FakeClient(a=RemotingCommand(code=1, remark="register broker failed"))
    (result,) = await registrar(client).register_broker_all(BODY)
    assert isinstance(result.error, ResponseError)
    assert result.error.code == 1


@pytest.mark.parametrize("failure", [None, RemotingConnectError("a", "refused")])
async def test_unregistering_goes_on_after_a_failure(failure):
    client = FakeClient(a=failure or RemotingCommand(), b=RemotingCommand())
    assert await registrar(client).unregister_broker_all() == {"a": failure, "b": None}
    assert [(addr, code) for addr, code, *_ in client.asked] == [("a", 104), ("b", 104)]
