"""A whole name server in this loop, over real sockets: starts, serves, keeps what must be kept, stops."""

import asyncio
import contextlib
import json
import logging
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest

from namekeeper import __version__
from namekeeper.access.signature import sign
from namekeeper.app import pages
from namekeeper.app.name_server import NameServer
from namekeeper.errors import ConfigError
from namekeeper.http.stats import JournalStats
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.handshake import TLS_RECEIVE_BYTES
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.route.events import Cause
from namekeeper.wire.codec import encode_command
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually, turns
from tests.support.wire.peer import connect, trusting
from tests.unit.app.parts import FakeClock, frame, name_server, registration, startup
from tests.unit.journal.disk_parts import records_in
from tests.unit.remoting.fake_front import FakeNative

LOCAL = "127.0.0.1"
KV = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"}


@contextlib.asynccontextmanager
async def asking(server: NameServer):
    """Gives a function that asks a server, over a connection of its own."""
    async with RemotingClient() as client:

        async def ask(code, body=b"", **fields):
            return await client.invoke(f"{LOCAL}:{server.port}", code, fields, body, timeout_ms=200_000)

        yield ask


async def register(ask, **more):
    asked = registration(**more)
    answer = await ask(asked.code, asked.body, **asked.ext_fields)
    assert answer.code == 0
    return answer


def brokers(server: NameServer) -> set[str]:
    return set(server.state.tables.broker_addr_table)


@both_loops
async def test_a_broker_registers_and_clients_find_it(tmp_path):
    async with name_server(tmp_path) as server, asking(server) as broker, asking(server) as client:
        await register(broker)
        answer = await client(105, topic="T1")
        assert (answer.code, b'"broker-a"' in answer.body) == (0, True)
        assert (await client(105, topic="T3")).code == 17
        assert (await client(319)).body.startswith(b"accessFile=\n")
        assert server.operators.stats().active_brokers == 1


@both_loops
async def test_closing_a_connection_removes_every_broker_registered_over_it(tmp_path):
    async with name_server(tmp_path) as server, asking(server) as other:
        await register(other, name="broker-c", addr="10.0.0.3:10911")
        async with asking(server) as both:
            await register(both)
            await register(both, name="broker-b", addr="10.0.0.2:10911", cluster_name="another")
            assert len(brokers(server)) == 3
        await eventually(lambda: brokers(server) == {"broker-c"})
        assert server.effects.counters.gone[Cause.CHANNEL_CLOSED] == 2
        assert (await other(105, topic="T1")).code == 0


@both_loops
async def test_an_expired_broker_loses_its_connection(tmp_path):
    clock = FakeClock()
    async with (
        name_server(tmp_path, clock=clock) as server,
        connect(f"{LOCAL}:{server.port}") as broker,
        asking(server) as other,
    ):
        await broker.send(encode_command(registration()))
        assert (await broker.answer()).code == 0
        clock.advance(121)
        assert (await other(106)).code == 0
        await server.housekeeping.expire()
        assert await broker.is_closed_by_server()
        assert not brokers(server)
        assert (await other(106)).code == 0
        assert server.effects.counters.gone == {
            **server.effects.counters.gone, Cause.EXPIRED: 1, Cause.CHANNEL_CLOSED: 0,
        }  # fmt: skip


@both_loops
async def test_the_kv_configuration_survives(tmp_path):
    async with name_server(tmp_path) as server, asking(server) as ask:
        assert (await ask(100, **KV)).code == 0
    async with name_server(tmp_path) as server, asking(server) as ask:
        assert (await ask(101, **KV)).ext_fields == {"value": "broker-a:4"}
        assert (await ask(102, **KV)).code == 0
    async with name_server(tmp_path) as server, asking(server) as ask:
        assert (await ask(101, **KV)).code == 22


@both_loops
async def test_stopping_removes_no_broker_and_may_be_done_twice(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "namekeeper"):
        async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as broker:
            await broker.send(encode_command(registration()))
            await broker.answer()
            await server.stop()
            assert await broker.is_closed_by_server()
            await server.stop()
            assert brokers(server) == {"broker-a"}
    assert "unregisterBroker" not in caplog.text
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection(LOCAL, broker.writer.get_extra_info("peername")[1])


@both_loops
async def test_what_does_not_end_keeps_the_journal_from_nothing(tmp_path, monkeypatch, caplog):
    """A stop hung before the journal was closed, twice among hundreds: its records would be lost."""
    monkeypatch.setattr("namekeeper.app.name_server.CLOSE_SECONDS", 0.1)
    stopped = []

    async def never(self):
        await asyncio.Event().wait()

    async def stop(self, seconds, *, at_most):
        stopped.append(seconds)

    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await peer.ask()
        close = server.server.close
        with monkeypatch.context() as patched:
            patched.setattr(type(server.server), "close", never)
            patched.setattr(type(server._journaling), "stop", stop)
            await server.stop()
        await server._journaling.stop(5)
        await close()
    assert len(stopped) == 1
    assert "the stop goes on although not everything has ended in 0.1 s: 1 connections, [" in caplog.text


@both_loops
async def test_two_stops_at_once_are_one(tmp_path):
    async with name_server(
        tmp_path, enable_shutdown_gracefully="true", shutdown_wait_time_seconds="20"
    ) as server:
        async with connect(f"{LOCAL}:{server.port}") as peer:
            await peer.ask()
            stops = [asyncio.create_task(server.stop()) for _ in range(2)]
            await eventually(lambda: server.state.is_draining)
        await asyncio.gather(*stops)


@both_loops
async def test_graceful_shutdown_sends_away_and_waits_until_they_are_gone(tmp_path):
    flags = {"enable_shutdown_gracefully": "true", "shutdown_wait_time_seconds": "20"}
    async with (
        name_server(tmp_path, **flags) as server,
        connect(f"{LOCAL}:{server.port}") as young,
        connect(f"{LOCAL}:{server.port}") as old,
        connect(f"{LOCAL}:{server.port}") as broker,
    ):
        await broker.send(encode_command(registration()))
        await broker.answer()
        look_up = frame(105, topic="T1")
        for _ in range(3):  # so that the look-up cache knows it
            await young.send(look_up)
            assert (await young.answer()).code == 0
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: server.state.is_draining)
        assert not server.server.addresses
        assert server.operators.health().phase.value == "draining"
        for asked in (look_up, frame(106), frame(4711), frame(100, **KV)):
            await young.send(asked)
            answer = await young.answer()
            assert (answer.code, answer.remark) == (1500, "please go away")
        await old.send(frame(105, version=475, topic="T1"))
        assert (await old.answer()).code == 0
        await young.close()
        await old.close()
        await eventually(lambda: len(server.server.connections) == 1)
        assert not stopping.done()
        await broker.close()
        await asyncio.wait_for(stopping, 15 * PATIENCE)


@both_loops
async def test_a_broker_that_was_asked_to_go_away_is_not_removed(tmp_path):
    """The next boot restores what was there at the stop."""
    flags = {"enable_shutdown_gracefully": "true", "shutdown_wait_time_seconds": "20"}
    async with name_server(tmp_path, **flags) as server, connect(f"{LOCAL}:{server.port}") as broker:
        await broker.send(encode_command(registration()))
        await broker.answer()
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: server.state.is_draining)
        await broker.close()
        await asyncio.wait_for(stopping, 15 * PATIENCE)
        assert brokers(server) == {"broker-a"}


@pytest.mark.parametrize(("whole", "most"), [(100.0, 100.0), (-1.0, 20.0)])
async def test_the_journal_has_what_is_left_of_a_stop_and_some_time_in_any_case(
    tmp_path, monkeypatch, whole, most
):
    monkeypatch.setattr("namekeeper.app.name_server.STOP_SECONDS", whole)
    monkeypatch.setattr("namekeeper.app.name_server.JOURNAL_SECONDS", 20.0)
    monkeypatch.setattr("namekeeper.app.name_server.BUSY_SECONDS", 200.0)
    given = []

    async def stop(self, seconds, *, at_most):
        given.append((seconds, at_most))

    async with name_server(tmp_path) as server:
        monkeypatch.setattr(type(server._journaling), "hurry", lambda _: given.append("hurry"))
        monkeypatch.setattr(type(server._journaling), "stop", stop)
        await server.stop()
    hurry, (seconds, at_most) = given
    assert hurry == "hurry"
    assert 20.0 <= seconds <= most
    assert 100.0 < at_most <= whole + 200.0


async def test_graceful_shutdown_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("namekeeper.app.name_server.LOOK_SECONDS", 10 * PATIENCE)
    flags = {"enable_shutdown_gracefully": "true", "shutdown_wait_time_seconds": "0"}
    async with name_server(tmp_path, **flags) as server, connect(f"{LOCAL}:{server.port}") as peer:
        assert (await peer.ask()).code == 17
        await server.stop()
        assert await peer.is_closed_by_server()


@both_loops
async def test_what_was_asked_before_the_stop_is_answered(tmp_path, monkeypatch):
    monkeypatch.setattr("namekeeper.app.name_server.FINISH_SECONDS", 10 * PATIENCE)
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as broker:
        await broker.send(encode_command(registration(30_000)) + frame(100, opaque=2, **KV))
        await eventually(lambda: server.requests.waiting)
        await server.stop()
        assert {(answer.opaque, answer.code) for answer in (await broker.answer(), await broker.answer())} == {
            (0, 0), (2, 0),
        }  # fmt: skip


@both_loops
async def test_what_was_put_by_who_left_is_on_disk_after_the_stop(tmp_path):
    async with name_server(tmp_path) as server:
        async with connect(f"{LOCAL}:{server.port}") as peer:
            puts = [frame(100, oneway=True, namespace="a", key=f"k{n}", value="v") for n in range(50)]
            await peer.send(b"".join(puts))
            await eventually(lambda: server.effects.counters.kv_changes == 50)
        await server.stop()
    assert (tmp_path / "kv.json").read_text().count('"v"') == 50


async def test_a_port_in_use_is_one_line_and_leaves_nothing_behind(tmp_path):
    with socket.create_server((LOCAL, 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(ConfigError, match=r"^can't listen on .* another process listens there"):
            async with name_server(tmp_path, listen_port=port):
                pass


@both_loops
async def test_an_http_port_in_use_keeps_nobody_from_routing(tmp_path, caplog):
    with socket.create_server((LOCAL, 0)) as taken, caplog.at_level(logging.WARNING):
        flags = {"http_port": str(taken.getsockname()[1])}
        async with name_server(tmp_path, **flags) as server, asking(server) as ask:
            await eventually(lambda: "no HTTP pages for operators" in caplog.text)
            assert (await ask(106)).code == 0


async def test_http_pages_that_can_not_be_loaded_keep_nobody_from_routing(tmp_path, monkeypatch, caplog):
    def fail(_name):
        raise ImportError("no aiohttp")

    monkeypatch.setattr(pages, "import_module", fail)
    async with name_server(tmp_path, http_port="0") as server, asking(server) as ask:
        await eventually(lambda: "no aiohttp" in caplog.text)
        assert (await ask(106)).code == 0


@both_loops
async def test_the_http_pages_show_the_server_and_end_with_it(tmp_path, caplog):
    aiohttp = pytest.importorskip("aiohttp")
    with caplog.at_level(logging.INFO):
        async with name_server(tmp_path, http_port="0") as server:
            await eventually(lambda: "operators' pages at" in caplog.text)
            url = caplog.text.partition("pages at ")[2].split()[0]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"{url}readyz") as response:
                    assert (response.status, (await response.json())["status"]) == (200, "ok")
                async with session.get(f"{url}metrics") as response:
                    assert "rocketmq_namesrv_active_brokers 0.0" in await response.text()
                async with session.get(f"{url}rocketmq/nsaddr") as response:
                    assert (await response.text()).strip() == f"{LOCAL}:{server.port}"


@both_loops
async def test_routes_are_watched_over_http(tmp_path, caplog):
    aiohttp = pytest.importorskip("aiohttp")
    caplog.set_level(logging.INFO)
    flags = {"http_port": "0", "http_watchers_limit": "1"}
    async with name_server(tmp_path, **flags) as server, asking(server) as ask, asking(server) as admin:
        await eventually(lambda: "operators' pages at" in caplog.text)
        url = caplog.text.partition("pages at ")[2].split()[0] + "watch"
        async with aiohttp.ClientSession() as session:

            async def watch(**query):
                async with session.get(url, params={"topic": "T1", **query}) as response:
                    return response.status, await response.text()

            await eventually(lambda: (server.operators.stats().journal or JournalStats()).boot)
            begin = json.loads((await watch())[1])["revision"]
            watching = asyncio.ensure_future(watch(after=begin))
            await eventually(lambda: len(server._watch) == 1)
            status, text = await watch(after=begin)
            assert (status, "httpWatchersLimit" in text) == (503, True)
            await register(ask)
            (change,) = json.loads((await watching)[1])["changes"]
            assert (change["cause"], change["topics"]) == ("register_broker", ["T1"])
            await admin(216, topic="T1")
            missed = json.loads((await watch(after=begin))[1])["changes"]
            assert [each["cause"] for each in missed] == ["register_broker", "delete_topic"]
            boot, _, seq = missed[-1]["revision"].partition("-")
            journal = server.operators.stats().journal
            assert (int(boot), int(seq)) == (journal.boot, journal.last_seq)


async def test_the_operators_page_goes_by_the_names_that_are_configured(tmp_path, caplog):
    aiohttp = pytest.importorskip("aiohttp")
    caplog.set_level(logging.INFO)
    async with name_server(tmp_path, http_port="0", http_host_names="ns.example.com; Keeper-http"):
        await eventually(lambda: "operators' pages at" in caplog.text)
        url = caplog.text.partition("pages at ")[2].split()[0] + "api/who_knows"
        async with aiohttp.ClientSession() as session:

            async def status(host):
                async with session.get(url, headers={"Host": host}) as response:
                    return response.status, "httpHostNames" in await response.text()

            assert await status("ns.example.com") == (400, False)  # what it is asked for is missing
            assert await status("keeper-http:9886") == (400, False)
            assert await status("evil.example.com") == (421, True)


async def test_it_is_told_who_has_asked_since_a_change(tmp_path):
    async with (
        name_server(tmp_path, remember_lookups="true") as server,
        asking(server) as broker, asking(server) as one, asking(server) as two,
    ):  # fmt: skip
        await eventually(lambda: server.operators.stats().journal)  # it numbers the changes
        await register(broker)
        for ask in (one, two, one, two):
            assert (await ask(105, topic="T1")).code == 0
        assert server._memory.who_knows("T1").since_count == 2
        await broker(205, brokerName="broker-a")
        await one(105, topic="T1")
        found = server._memory.who_knows("T1")
        assert (found.change.cause, found.since_count, found.before_count) == ("wipe_write_perm", 1, 1)
        await asyncio.gather(*(ask(106) for ask in (one, two)))
    assert server._memory.who_knows("T1").connections == 0


async def test_under_access_rules_each_look_up_is_remembered_too(tmp_path):
    path = await asyncio.to_thread(write_rules, tmp_path, "audit")
    async with (
        name_server(tmp_path, remember_lookups="true", access_file=path) as server,
        asking(server) as broker, asking(server) as one,
    ):  # fmt: skip
        await eventually(lambda: server.operators.stats().journal)
        await register(broker)
        for topic in ("T1", "T2", "T2", "T1"):
            assert (await one(105, topic=topic)).code == 0
        await broker(205, brokerName="broker-a")
        for _ in range(2):
            await broker(105, topic="T1")
            await one(105, topic="T1")
        assert server._memory.who_knows("T1").since_count == 2
        assert server.state.lookup_cache.found == 0


def test_a_kv_file_that_can_not_be_read_is_refused_by_name(tmp_path):
    file = tmp_path / "kv.json"
    file.write_text('{"configTable":{"a":')
    with pytest.raises(ConfigError, match=r"kv\.json: .*repair the file, or move it away to start empty$"):
        NameServer(startup(tmp_path))
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match=r"^can't read the KV file .*kv\.json: Is a directory$"):
        NameServer(startup(tmp_path))


@pytest.mark.parametrize(
    ("name", "code", "body", "text"),
    [("kv.json", 100, b"", b"broker-a:4"), ("namesrv.properties", 318, b"logLevel=WARN", b"logLevel=WARN")],
)
async def test_what_the_disk_refused_is_written_when_it_can_be(tmp_path, monkeypatch, name, code, body, text):
    monkeypatch.setattr("namekeeper.app.saver.RETRY_SECONDS", 0.001)
    file = tmp_path / name
    async with name_server(tmp_path, allow_config_update="true") as server, asking(server) as ask:
        file.mkdir()
        answer = await ask(code, body, **KV)
        assert (answer.code, answer.remark[:34]) == (1, "the change is in effect but not on")
        file.rmdir()
        await eventually(lambda: not server.operators.health().degraded)
        assert text in file.read_bytes()


def test_an_empty_kv_file_is_an_empty_configuration(tmp_path):
    (tmp_path / "kv.json").touch()
    assert not list(NameServer(startup(tmp_path)).state.kv_config.entries())


@both_loops
async def test_an_unwritable_kv_file_is_code_1_and_degraded(tmp_path):
    file = tmp_path / "kv.json"
    async with name_server(tmp_path) as server, asking(server) as ask:
        file.mkdir()
        answer = await ask(100, **KV)
        assert (answer.code, answer.remark[:34]) == (1, "the change is in effect but not on")
        assert set(server.operators.health().degraded) == {"files"}
        assert (await ask(101, **KV)).code == 0
        file.rmdir()
        assert (await ask(100, **KV)).code == 0
        assert not server.operators.health().degraded


@both_loops
async def test_a_bug_in_a_handler_ends_neither_connection_nor_server(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("namekeeper.route.queries.cluster_info", lambda *_: 1 // 0)
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await peer.send(frame(106) + frame(105, opaque=2, topic="T"))
        answers = [await peer.answer(), await peer.answer()]
        assert [(answer.opaque, answer.code) for answer in answers] == [(1, 1), (2, 17)]
        assert caplog.text.count("Traceback") == 1
        assert server.operators.stats().handler_errors == 1


async def test_brokers_are_notified_within_the_networks_that_are_configured(tmp_path, caplog):
    flags = {"notify_min_broker_id_changed": "true", "notify_networks": "10.0.0.0/8"}
    async with name_server(tmp_path, **flags) as server, asking(server) as ask:
        await register(ask, addr=f"{LOCAL}:{server.port}", broker_id=1)
        await register(ask, addr="10.0.0.1:10911", broker_id=0)
        failed = f"notify min broker id changed to {LOCAL}:{server.port} failed"
        await eventually(lambda: f"{failed}: the address is in none of notifyNetworks" in caplog.text)


@both_loops
async def test_brokers_are_notified(tmp_path):
    received = []
    async with (
        RemotingServer(lambda asked, _: received.append(asked), listen=ListenOptions(LOCAL, 0)) as slave,
        name_server(tmp_path, notify_min_broker_id_changed="true") as server,
        asking(server) as ask,
    ):
        await register(ask, addr=str(slave.addresses[0]), broker_id=1)
        await register(ask, addr="10.0.0.1:10911", broker_id=0)
        await eventually(lambda: received)
        assert received[0].ext_fields["minBrokerAddr"] == "10.0.0.1:10911"


async def test_bad_certificates_keep_tls_clients_out_and_nobody_else(tmp_path, caplog):
    flags = {
        "tls_test_mode_enable": "false",
        "tls_server_cert_path": "/no/cert.pem",
        "tls_server_key_path": "/no/key.pem",
    }
    async with name_server(tmp_path, **flags) as server, asking(server) as ask:
        await eventually(lambda: "can't build the TLS context, TLS clients are turned away" in caplog.text)
        assert (await ask(106)).code == 0


def test_bad_certificates_of_our_own_requests_are_refused(tmp_path):
    flags = {"tls_client_cert_path": "/no/cert.pem", "tls_client_key_path": "/no/key.pem"}
    refused = startup(tmp_path, tls_enable="true", tls_test_mode_enable="false", **flags)
    with pytest.raises(
        ConfigError, match=r"^tls\.client\.certPath=/no/cert\.pem can't be used: No such file"
    ):
        NameServer(refused)


async def test_a_tls_file_that_can_not_be_read_is_none(tmp_path):
    async with name_server(tmp_path, tls_config_file=str(tmp_path)) as server, asking(server) as ask:
        assert (await ask(106)).code == 0


def test_keys_of_the_tls_file_count(tmp_path):
    file = tmp_path / "tls.properties"
    file.write_text("tls.test.mode.enable=false\ntls.server.need.client.auth=require\n")
    with pytest.raises(ConfigError, match=r"tls\.server\.trustCertPath"):
        NameServer(startup(tmp_path, tls_config_file=str(file)))


@both_loops
async def test_tls_and_plain_clients_are_served(tmp_path):
    async with (
        name_server(tmp_path) as server,
        asking(server) as plain,
        RemotingClient(tls=trusting()) as tls,
    ):
        assert (await plain(106)).code == 0
        assert (await tls.invoke(f"{LOCAL}:{server.port}", 106, timeout_ms=200_000)).code == 0


@pytest.mark.parametrize(("configured", "size"), [("0", TLS_RECEIVE_BYTES), ("8192", 8_192)])
async def test_a_tls_connection_has_a_small_receive_buffer(tmp_path, configured, size):
    async with (
        name_server(tmp_path, server_socket_rcv_buf_size=configured) as server,
        RemotingClient(tls=trusting()) as tls,
    ):
        await tls.invoke(f"{LOCAL}:{server.port}", 106, timeout_ms=200_000)
        (connection,) = server.server.connections
        sock = connection._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * size  # Linux doubles it


@both_loops
async def test_a_tls_connection_whose_reading_paused_amid_a_large_frame_goes_on(tmp_path):
    async with name_server(tmp_path) as server, RemotingClient(tls=trusting()) as tls:
        address = f"{LOCAL}:{server.port}"
        await tls.invoke(address, 106, timeout_ms=200_000)
        (connection,) = server.server.connections
        connection._transport.pause_reading()
        asked = asyncio.create_task(tls.invoke(address, 999, body=bytes(2_000_000), timeout_ms=200_000))
        await turns(100)
        assert connection.bytes_in < 2_000_000
        connection._transport.resume_reading()
        assert (await asked).code == 3


async def test_the_level_of_the_log_follows_its_property(tmp_path):
    levels = []

    class Logs:
        dropped = 3
        is_failing = True
        set_level = staticmethod(levels.append)

    async with (
        name_server(tmp_path, logs=Logs(), allow_config_update="true") as server,
        asking(server) as ask,
    ):
        assert (await ask(318, b"logLevel=DEBUG\n")).code == 0
        assert (await ask(318, b"orderMessageEnable=true\n")).code == 0
        assert levels == ["DEBUG"]
        assert "log" in server.operators.health().degraded


@pytest.mark.parametrize(
    ("properties", "limits"),
    [
        ({}, (65_536, 262_144)),
        ({"write_buffer_low_water_mark": "10000", "write_buffer_high_water_mark": "20000"}, (10_000, 20_000)),
        ({"write_buffer_high_water_mark": "20000"}, (65_536, 262_144)),
        ({"write_buffer_low_water_mark": "10000"}, (65_536, 262_144)),
    ],
)
async def test_water_marks_count_if_both_are_set(tmp_path, properties, limits):
    async with name_server(tmp_path, **properties) as server, asking(server) as ask:
        await ask(106)
        (connection,) = server.server.connections
        assert connection._transport.get_write_buffer_limits() == limits


async def test_connections_know_which_lookups_take_long(tmp_path):
    async with name_server(tmp_path) as server, asking(server) as ask:
        await ask(106)
        (connection,) = server.server.connections
        assert connection._context.hooks.takes_long == server.requests.takes_long


async def test_the_sizes_of_socket_buffers_are_as_configured(tmp_path):
    sizes = {"server_socket_snd_buf_size": "50000", "server_socket_rcv_buf_size": "60000"}
    async with name_server(tmp_path, **sizes) as server, asking(server) as ask:
        await ask(106)
        (connection,) = server.server.connections
        sock = connection._transport.get_extra_info("socket")
        found = [sock.getsockopt(socket.SOL_SOCKET, name) for name in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        assert found == [2 * 50_000, 2 * 60_000]  # Linux doubles what it is asked for


async def test_an_idle_time_of_0_closes_nobody(tmp_path):
    async with (
        name_server(tmp_path, server_channel_max_idle_time_seconds="0") as server,
        asking(server) as ask,
    ):
        await ask(106)
        await turns(200)
        await ask(106)
        stats = server.operators.stats()
        assert (stats.accepted_connections, stats.closed_channels["idle"]) == (1, 0)


RULES = """
mode = "{mode}"
keys = "keys.toml"

[[rule]]
name = "everybody"
requests = ["read"]

[[rule]]
name = "broker"
requests = ["broker"]
users = ["broker"]
"""


def write_rules(folder, mode="enforce"):
    (folder / "keys.toml").write_text('[users]\nbroker = "secret"\n')
    (folder / "keys.toml").chmod(0o600)
    (folder / "access.toml").write_text(RULES.format(mode=mode))
    return str(folder / "access.toml")


@both_loops
async def test_rules_of_access_hold_and_follow_their_file(tmp_path):
    path = await asyncio.to_thread(write_rules, tmp_path)
    async with name_server(tmp_path, access_file=path) as server, asking(server) as ask:
        asked = registration()
        refused = await ask(asked.code, asked.body, **asked.ext_fields)
        assert (refused.code, brokers(server)) == (16, set())
        signed = sign(asked.ext_fields, asked.body, access_key="broker", secret_key="secret")
        assert (await ask(asked.code, asked.body, **signed)).code == 0
        assert [(await ask(105, topic="T1")).code for _ in range(3)] == [0, 0, 0]
        assert server.state.lookup_cache.found == 2
        assert server.operators.stats().refused == {("broker", "none", "enforce"): 1}
        await asyncio.to_thread(Path(path).write_text, "mode =")
        await eventually(lambda: "access" in server.operators.health().degraded)
        assert (await ask(205, brokerName="broker-a")).code == 16
        await asyncio.to_thread(write_rules, tmp_path, "audit")
        await eventually(lambda: server.access.files.policy.rules.mode.value == "audit")
        assert server.operators.health().degraded == {}
        assert (await ask(205, brokerName="broker-a")).code == 0


def test_a_server_whose_rules_cant_be_used_does_not_start(tmp_path):
    (tmp_path / "access.toml").write_text("mode =")
    with pytest.raises(ConfigError, match=r"access\.toml is not TOML"):
        NameServer(startup(tmp_path, access_file=str(tmp_path / "access.toml")))


@pytest.mark.parametrize(("front", "is_native"), [("auto", True), ("native", True), ("python", False)])
async def test_the_operator_chooses_the_front(tmp_path, monkeypatch, front, is_native):
    monkeypatch.setitem(
        sys.modules,
        "namekeeper_front",
        SimpleNamespace(__version__=__version__, Front=lambda *_: FakeNative()),
    )
    async with name_server(tmp_path, front=front) as server:
        assert (server.server.front is not None) == is_native
        assert server.operators.stats().front_connections == 0


@pytest.mark.parametrize(("given", "cores", "threads"), [("3", 2, 3), ("0", 1, 1), ("0", 3, 2), ("0", 64, 4)])
async def test_the_front_has_as_many_threads_as_configured(tmp_path, monkeypatch, given, cores, threads):
    made = []
    module = SimpleNamespace(__version__=__version__, Front=lambda *parts: made.append(parts) or FakeNative())
    monkeypatch.setitem(sys.modules, "namekeeper_front", module)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    async with name_server(tmp_path, front="native", front_threads=given):
        ((_, _, number),) = made
        assert number == threads


def test_without_the_front_who_demands_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "namekeeper_front", None)
    with pytest.raises(ConfigError, match="install namekeeper-front, or set front=auto"):
        NameServer(startup(tmp_path, front="native"))


async def test_without_the_front_who_leaves_it_open_is_served(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "namekeeper_front", None)
    async with name_server(tmp_path, front="auto") as server:
        assert server.server.front is None


async def test_with_access_rules_there_is_a_front_for_those_who_may_look_up_all(tmp_path, monkeypatch):
    monkeypatch.setitem(
        sys.modules,
        "namekeeper_front",
        SimpleNamespace(__version__=__version__, Front=lambda *_: FakeNative()),
    )
    path = await asyncio.to_thread(write_rules, tmp_path)
    async with name_server(tmp_path, access_file=path) as server, asking(server) as ask:
        assert server.server.front is not None
        await ask(105, topic="T1")
        (connection,) = server.server.connections
        assert connection.reader.may_find_all


async def test_answers_of_another_form_have_no_front(tmp_path, monkeypatch):
    monkeypatch.setitem(
        sys.modules,
        "namekeeper_front",
        SimpleNamespace(__version__=__version__, Front=lambda *_: FakeNative()),
    )
    async with name_server(tmp_path, serialize_type="ROCKETMQ") as server:
        assert server.server.front is None


@contextlib.asynccontextmanager
async def pages_of(caplog):
    """A function that reads an operators' page of the server that runs: status and text."""
    await eventually(lambda: "operators' pages at " in caplog.text)
    url = re.findall(r"operators' pages at (\S+)", caplog.text)[0]
    async with aiohttp.ClientSession() as session:

        async def read(page):
            async with session.get(url + page) as response:
                return response.status, await response.text()

        yield read


async def test_silent_brokers_that_the_guard_keeps_are_degraded_until_they_are_heard(tmp_path, caplog):
    caplog.set_level("INFO")
    clock = FakeClock()
    flags = {"expiry_guard_percent": "50", "http_port": "0"}
    async with (
        name_server(tmp_path, clock=clock, **flags) as server,
        asking(server) as ask,
        pages_of(caplog) as read,
    ):
        for number in (1, 2):
            await register(ask, name=f"broker-{number}", addr=f"10.0.0.{number}:10911")
        clock.advance(121)
        await server.housekeeping.expire()
        reasons = {"expiry": "2 silent brokers are kept (expiryGuardPercent)"}
        assert server.operators.health().degraded == reasons
        for page, status in (("readyz", 200), ("readyz?strict=1", 503), ("status", 200)):
            found, text = await read(page)
            assert (found, json.loads(text)["status"]) == (status, "degraded"), page
            assert json.loads(text)["reasons"] == reasons
        assert 'rocketmq_namesrv_degraded{reason="expiry"} 1' in (await read("metrics"))[1]
        await register(ask, name="broker-1", addr="10.0.0.1:10911")
        await server.housekeeping.expire()
        assert server.operators.health().degraded == {}
        assert json.loads((await read("readyz"))[1])["status"] == "ok"


WAYS_TO_METRICS = (
    "/healthz/../metrics", "/rocketmq/nsaddr/../../metrics", "/readyz/%2e%2e/metrics", "/healthz%2f..%2fmetrics",
    "//metrics", "/./metrics", "/%6detrics", "/metrics?/healthz", "/metrics#/healthz", "/metrics/", "/METRICS",
    "/metrics;/healthz", "http://127.0.0.1/metrics", "/healthz\\..\\metrics",
)  # fmt: skip


async def raw_get(url: str, path: str) -> bytes:
    """The answer to a path as it is written, which a client would tidy up."""
    port = int(url.rpartition(":")[2].strip("/"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n".encode())
    said = await asyncio.wait_for(reader.read(), 10 * PATIENCE)
    writer.close()
    return said


async def test_rules_close_the_operators_pages(tmp_path, caplog):
    caplog.set_level("INFO")
    path = await asyncio.to_thread(write_rules, tmp_path)
    pages = '[[rule]]\nname = "pages"\nrequests = ["http"]\nusers = ["broker"]\n'
    await asyncio.to_thread(Path(path).write_text, RULES.format(mode="enforce") + pages)
    async with name_server(tmp_path, access_file=path, http_port="0"), aiohttp.ClientSession() as session:
        await eventually(lambda: "operators' pages at " in caplog.text)
        url = re.findall(r"operators' pages at (\S+)", caplog.text)[0]

        async def status(page, **headers):
            async with session.get(url + page, headers=headers) as response:
                return response.status

        assert await status("metrics") == 403
        for path in WAYS_TO_METRICS:
            said = await raw_get(url, path)
            assert b"rocketmq_namesrv_" not in said, path
            assert re.match(rb"HTTP/1\.1 (400|403|404) ", said), (path, said)
        assert await status("metrics", Authorization="Bearer secret") == 200
        assert await status("readyz") == 200


@pytest.mark.parametrize("how", ["idle", "peer"])
async def test_the_journal_says_who_closed_the_connection_of_a_broker(tmp_path, how):
    """A broker that hangs looked like one that was killed."""
    idle = {"server_channel_max_idle_time_seconds": "1"} if how == "idle" else {}
    async with name_server(tmp_path, journal_path=str(tmp_path / "journal"), **idle) as server:
        async with connect(f"127.0.0.1:{server.port}") as peer:
            await peer.send(encode_command(registration()))
            assert (await peer.answer()).code == 0
            if how == "idle":
                assert await peer.is_closed_by_server()
        await eventually(lambda: server.effects.counters.closed_by[how] == 1)
        await server.stop()
    records = await asyncio.to_thread(records_in, tmp_path / "journal")
    (gone,) = [record for record in records if record.get("gone") and record["kind"] == "broker_live"]
    assert (gone["reason"], gone["closed_by"]) == ("channel_closed", how)
