"""905: the brokers of a group learn that its smallest id is another one, and nobody waits for them."""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from namekeeper.app import notifier as module
from namekeeper.app.notifier import (
    CONNECTIONS_LIMIT,
    SEND_TIMEOUT_MS,
    WAITING_LIMIT,
    Notifier,
    notifying_client,
)
from namekeeper.common.networks import parse_network
from namekeeper.errors import RemotingConnectError
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.log_limit import LINES
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
        super().__init__(lambda request, _: self.received.append(request), listen=ListenOptions(LOCAL, 0))
        self.received = []


class AllLive:
    """Live brokers: one for each address that an event names, but for those that have left."""

    def __init__(self):
        self.addrs = set()
        self.left = set()

    def of_name(self, _broker_name):
        return [SimpleNamespace(broker_addr=addr) for addr in self.addrs - self.left]


LIVE = AllLive()


def notifying(client, *networks):
    return Notifier(lambda: client, lambda: LIVE, [parse_network(text) for text in networks])


def changed(*recipients, **more):
    LIVE.addrs.update(recipients)
    return MinBrokerIdChanged("broker-a", 1, "10.0.0.2:10911", recipients, **more)


@both_loops
async def test_every_recipient_is_told_one_way_with_javas_fields(monkeypatch):
    monkeypatch.setattr(module, "SEND_TIMEOUT_MS", PATIENCE_MS)
    async with Broker() as one, Broker() as two, RemotingClient(connect_timeout_ms=PATIENCE_MS) as client:
        notifier = notifying(client)
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
        notifier = notifying(client)
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
    notifier = notifying(client)
    notifier(changed(*(f"10.0.{n // 256}.{n % 256}:10911" for n in range(WAITING_LIMIT + 50))))
    await turns()
    assert len(client.calls) == CONNECTIONS_LIMIT
    assert len(notifier._under_way) == WAITING_LIMIT
    assert {timeout_ms for _, timeout_ms in client.calls} == {SEND_TIMEOUT_MS}
    assert caplog.text.count("too many under way") == 1
    client.may_end.set()
    await eventually(lambda: not notifier._under_way)
    notifier(changed("10.0.0.1:10911"))
    await eventually(lambda: len(client.calls) == WAITING_LIMIT + 1)


async def test_close_gives_up_on_what_is_under_way():
    client = HeldClient()
    notifier = notifying(client)
    notifier(changed("10.0.0.1:10911", "10.0.0.2:10911"))
    await turns()
    await notifier.close()
    assert not notifier._under_way
    await notifier.close()


@pytest.mark.parametrize("limit", [1, 2])
async def test_the_limit_is_exact(monkeypatch, limit):
    monkeypatch.setattr(module, "WAITING_LIMIT", limit)
    client = HeldClient()
    notifier = notifying(client)
    notifier(changed("10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"))
    await turns()
    assert len(client.calls) == limit
    await notifier.close()


async def test_an_address_that_no_live_broker_has_is_not_notified():
    client = HeldClient()
    notifier = notifying(client)
    event = changed("10.0.0.1:10911", "10.0.0.2:10911")
    LIVE.left.add("10.0.0.2:10911")
    notifier(event)
    await turns()
    assert [addr for addr, _ in client.calls] == ["10.0.0.1:10911"]
    LIVE.left.clear()
    await notifier.close()


async def test_a_broker_that_leaves_while_its_notification_waits_is_not_notified(monkeypatch):
    monkeypatch.setattr(module, "CONNECTIONS_LIMIT", 1)
    client = HeldClient()
    notifier = notifying(client)
    notifier(changed("10.0.0.1:10911", "10.0.0.2:10911"))
    await turns()
    LIVE.left.add("10.0.0.2:10911")
    client.may_end.set()
    await eventually(lambda: not notifier._under_way)
    assert [addr for addr, _ in client.calls] == ["10.0.0.1:10911"]
    LIVE.left.clear()


@pytest.mark.parametrize(
    ("addr", "is_allowed"),
    [
        ("10.1.0.1:10911", True),
        ("[::ffff:10.1.0.1]:10911", True),
        ("[fd00::1]:10911", True),
        ("10.2.0.1:10911", False),
        ("169.254.169.254:80", False),
        ("127.1:10911", False),
        ("167837697:10911", False),
        ("broker.example:10911", False),
        ("10.1.0.1:10911@10.2.0.1:1", False),
        ("no address", False),
    ],
)
async def test_only_brokers_of_the_allowed_networks_are_notified(addr, is_allowed, caplog):
    client = HeldClient()
    client.may_end.set()
    notifier = notifying(client, "10.1.0.0/16", "fd00::/8")
    notifier(changed(addr))
    await eventually(lambda: not notifier._under_way)
    assert [asked for asked, _ in client.calls] == ([addr] if is_allowed else [])
    assert f"notify min broker id changed to {addr} failed" in caplog.text


async def test_each_address_costs_a_descriptor_only_for_a_while(monkeypatch):
    monkeypatch.setattr(module, "CONNECTIONS_LIMIT", 3)
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(module, "SEND_TIMEOUT_MS", PATIENCE_MS)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(notifying_client(None))
        brokers = [await stack.enter_async_context(Broker()) for _ in range(12)]
        most = 0
        notifier = notifying(client)
        notifier(changed(*(str(broker.addresses[0]) for broker in brokers)))
        while notifier._under_way:
            most = max(most, len(client._connecting), len(client._connections))
            await asyncio.sleep(0)
        assert most <= 3
        await eventually(lambda: all(broker.received for broker in brokers))
        await eventually(lambda: not client._open_sockets)
        await notifier.close()


async def test_failures_that_peers_cause_do_not_flood_the_log(caplog):
    client = HeldClient()
    client.may_end.set()
    notifier = notifying(client)
    for n in range(LINES + 30):
        notifier(changed(f"10.0.0.{n}:10911"))
    await eventually(lambda: not notifier._under_way)
    assert caplog.text.count("notify min broker id changed") == LINES
