"""905: the brokers of a group learn that its smallest id is another one, and nobody waits for them."""

import asyncio

import pytest

from namekeeper.app import notifier as module
from namekeeper.app.notifier import MAX_UNDER_WAY, SEND_TIMEOUT_MS, Notifier
from namekeeper.errors import RemotingConnectError
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.server import RemotingServer
from namekeeper.route.events import MinBrokerIdChanged
from namekeeper.wire.command import ONEWAY_FLAG
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually, turns

LOCAL = "127.0.0.1"
PATIENCE_MS = int(10_000 * PATIENCE)
"""A time limit that no busy machine reaches: a notification that is late is not sent again."""


class Broker(RemotingServer):
    """Keeps what it receives."""

    def __init__(self):
        super().__init__(lambda request, _: self.received.append(request), host=LOCAL, port=0)
        self.received = []


def changed(*recipients, **more):
    return MinBrokerIdChanged("broker-a", 1, "10.0.0.2:10911", recipients, **more)


@both_loops
async def test_every_recipient_is_told_one_way_with_javas_fields(monkeypatch):
    monkeypatch.setattr(module, "SEND_TIMEOUT_MS", PATIENCE_MS)
    async with Broker() as one, Broker() as two, RemotingClient(connect_timeout_ms=PATIENCE_MS) as client:
        notifier = Notifier(lambda: client)
        addrs = [str(broker.addresses[0]) for broker in (one, two)]
        notifier(changed(*addrs, offline_broker_addr="10.0.0.1:10911"))
        notifier(changed(addrs[0], ha_broker_addr="10.0.0.1:10912"))
        await eventually(lambda: len(one.received) == 2 and two.received)
        first = next(request for request in one.received if "offlineBrokerAddr" in request.ext_fields)
        assert (first.code, first.flag, first.body) == (905, ONEWAY_FLAG, b"")
        assert first.ext_fields == {
            "minBrokerId": "1", "minBrokerAddr": "10.0.0.2:10911", "offlineBrokerAddr": "10.0.0.1:10911",
        }  # fmt: skip
        assert two.received[0].ext_fields == first.ext_fields
        (second,) = (request for request in one.received if request is not first)
        assert second.ext_fields["haBrokerAddr"] == "10.0.0.1:10912"
        await notifier.close()


async def test_who_can_not_be_reached_is_logged_and_forgotten(caplog, monkeypatch):
    monkeypatch.setattr(module, "SEND_TIMEOUT_MS", PATIENCE_MS)
    async with Broker() as reachable, RemotingClient(connect_timeout_ms=PATIENCE_MS) as client:
        notifier = Notifier(lambda: client)
        async with Broker() as gone:
            addr = str(gone.addresses[0])
        notifier(changed(addr, "no address", str(reachable.addresses[0])))
        await eventually(lambda: reachable.received and not notifier._under_way)
        assert f"notify min broker id changed to {addr} failed" in caplog.text
        assert "to no address failed" in caplog.text


class HeldClient:
    """A client whose peers never answer."""

    def __init__(self):
        self.calls = []
        self.may_end = asyncio.Event()

    async def invoke_oneway(self, addr, code, fields, *, timeout_ms):
        self.calls.append((addr, timeout_ms))
        await self.may_end.wait()
        raise RemotingConnectError(addr, "held")

    async def close(self):
        self.may_end.set()


async def test_how_many_are_under_way_is_limited(caplog):
    client = HeldClient()
    notifier = Notifier(lambda: client)
    notifier(changed(*(f"10.0.{n // 256}.{n % 256}:10911" for n in range(MAX_UNDER_WAY + 50))))
    await turns()
    assert len(client.calls) == MAX_UNDER_WAY
    assert {timeout_ms for _, timeout_ms in client.calls} == {SEND_TIMEOUT_MS}
    assert caplog.text.count("too many under way") == 1
    client.may_end.set()
    await eventually(lambda: not notifier._under_way)
    notifier(changed("10.0.0.1:10911"))
    await eventually(lambda: len(client.calls) == MAX_UNDER_WAY + 1)


async def test_close_gives_up_on_what_is_under_way():
    client = HeldClient()
    notifier = Notifier(lambda: client)
    notifier(changed("10.0.0.1:10911", "10.0.0.2:10911"))
    await turns()
    await notifier.close()
    assert not notifier._under_way
    await notifier.close()


@pytest.mark.parametrize("limit", [1, 2])
async def test_the_limit_is_exact(monkeypatch, limit):
    monkeypatch.setattr(module, "MAX_UNDER_WAY", limit)
    client = HeldClient()
    notifier = Notifier(lambda: client)
    notifier(changed("10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"))
    await turns()
    assert len(client.calls) == limit
    await notifier.close()
