"""What operators are told is what is so: every number is looked at after something made it move."""

import asyncio

import pytest
from msgspec.structs import asdict, fields

from namekeeper.app.stats import Operators
from namekeeper.http.health import HealthState, Phase, health_of
from namekeeper.http.metrics import render_metrics
from namekeeper.http.stats import NameServerStats
from namekeeper.remoting.client import RemotingClient
from namekeeper.wire.codec import encode_command
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect
from tests.unit.app.parts import FakeClock, frame, name_server, registration

LOCAL = "127.0.0.1"


async def exchange(peer, *frames):
    await peer.send(b"".join(frames))
    return [await peer.answer() for _ in frames]


@both_loops
async def test_an_idle_server_counts_nothing_but_knows_itself(tmp_path):
    clock = FakeClock()
    async with name_server(tmp_path, clock=clock) as server:
        stats = server.operators.stats()
    assert stats.version
    assert stats.event_loop in {"asyncio", "uvloop"}
    assert stats.start_time_seconds == clock.now().wall_ms / 1000
    assert stats.is_ready
    assert not any(
        value
        for name, value in asdict(stats).items()
        if name not in {"version", "event_loop", "start_time_seconds", "is_ready"}
        and isinstance(value, int | float)
    )
    assert not any(stats.requests.values())


@both_loops
async def test_every_number_moves_when_something_happens(tmp_path):
    clock = FakeClock()
    async with name_server(tmp_path, clock=clock, max_connections="3") as server:
        addr = f"{LOCAL}:{server.port}"
        async with connect(addr) as broker, connect(addr) as other, connect(addr) as rude:
            await exchange(broker, encode_command(registration()))
            await exchange(other, encode_command(registration(name="broker-b", addr="10.0.0.2:10911")))
            await exchange(
                broker,
                frame(322, opaque=2, brokerName="broker-a", brokerAddr="10.0.0.1:10911", clusterName="DefaultCluster",
                      brokerId="0"),
                frame(105, opaque=3, topic="T1"), frame(105, opaque=4, topic="nobody has it"), frame(4711, opaque=5),
                frame(100, opaque=6, namespace="a", key="b", value="c"),
            )  # fmt: skip
            await rude.send(b"\0" * 8)
            assert await rude.is_closed_by_server()
            stats = server.operators.stats()
            assert (stats.active_brokers, stats.broker_names, stats.clusters) == (2, 2, 1)
            assert (stats.topics, stats.queue_rows, stats.kv_generation) == (2, 4, 1)
            assert (stats.active_connections, stats.accepted_connections) == (2, 3)
            assert (stats.heartbeats, stats.registrations) == (1, {"new": 2})
            assert stats.registration_body_bytes == 2 * len(registration().body)
            assert stats.protocol_errors == stats.closed_channels["protocol_error"] == 1
            assert stats.received_bytes > stats.registration_body_bytes
            assert stats.sent_bytes
            assert stats.route_cache_bytes
            asked = {key: count for key, count in stats.requests.items() if count}
            assert asked == {(103, 0): 2, (322, 0): 1, (105, 0): 1, (105, 17): 1, (-1, 3): 1, (100, 0): 1}
            clock.advance(121)
            await server.housekeeping.expire()
            assert await broker.is_closed_by_server()
            assert await other.is_closed_by_server()
            stats = server.operators.stats()
            assert (stats.expiries, stats.active_brokers, stats.topics) == (2, 0, 0)


@both_loops
async def test_ways_to_go_are_told_apart(tmp_path):
    async with name_server(tmp_path) as server:
        addr = f"{LOCAL}:{server.port}"
        async with connect(addr) as broker:
            await exchange(broker, encode_command(registration()))
            await exchange(
                broker, frame(104, brokerName="broker-a", brokerAddr="10.0.0.1:10911", clusterName="DefaultCluster",
                              brokerId="0")
            )  # fmt: skip
            await exchange(broker, encode_command(registration()))
        await eventually(lambda: server.operators.stats().channel_close_removals == 1)
        stats = server.operators.stats()
        assert (stats.unregistrations, stats.expiries) == (1, 0)
        assert stats.registrations == {"new": 2}


@both_loops
async def test_newcomers_beyond_the_limit_are_counted(tmp_path):
    async with (
        name_server(tmp_path, max_connections="1") as server,
        connect(f"{LOCAL}:{server.port}") as first,
    ):
        await first.ask()
        async with connect(f"{LOCAL}:{server.port}") as second:
            assert await second.is_closed_by_server()
        assert server.operators.stats().refused_connections == 1


async def test_changes_under_way_are_shown(tmp_path):
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as broker:
        await broker.send(encode_command(registration(30_000)))
        await eventually(lambda: server.operators.stats().change_queue_depth == 1)
        assert server.operators.stats().body_bytes_in_flight
        assert (await broker.answer()).code == 0
        assert server.operators.stats().change_queue_depth == 0


@both_loops
async def test_look_ups_that_are_known_by_their_bytes_are_counted_like_others(tmp_path):
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await exchange(peer, encode_command(registration()))
        for opaque in range(1, 31):
            await exchange(peer, frame(105, opaque=opaque, topic="T1"))
        assert server.operators.stats().requests[105, 0] == 30


async def test_of_look_ups_some_are_timed(tmp_path):
    async with name_server(tmp_path, front="python") as server, connect(f"{LOCAL}:{server.port}") as peer:
        await exchange(peer, encode_command(registration()))
        while sum(server.operators.stats().durations[105].buckets) < 3:
            await exchange(peer, frame(105, topic="T1"))
        assert sum(server.operators.stats().durations[103].buckets) == 1


async def test_every_field_is_filled(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr("namekeeper.app.stats.NameServerStats", lambda **values: made.append(values))
    async with name_server(tmp_path) as server:
        monkeypatch.setattr(Operators, "health", lambda _: HealthState(phase=Phase.SERVING))
        server.operators.stats()
    assert set(made[0]) == {field.name for field in fields(NameServerStats)}


async def test_numbers_become_metrics(tmp_path):
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await exchange(peer, encode_command(registration()))
        stats = server.operators.stats()
    text, _ = await asyncio.to_thread(render_metrics, stats)
    assert b"rocketmq_namesrv_active_brokers 1.0\n" in text
    assert b'rocketmq_namesrv_requests_total{request_type="REGISTER_BROKER",result="success"} 1.0\n' in text


# Health.


async def test_a_server_is_ready_once_it_listens(tmp_path):
    async with name_server(tmp_path) as server:
        assert health_of(server.operators.health()).status == "ok"
        server.requests.drain()
        assert server.operators.health().phase is Phase.DRAINING
        assert not server.operators.stats().is_ready


async def test_a_server_that_waits_for_brokers_says_how_long(tmp_path):
    clock = FakeClock()
    flags = {"need_wait_for_service": "true", "wait_seconds_for_service": "45"}
    async with name_server(tmp_path, clock=clock, **flags) as server:
        clock.advance(10)
        health = server.operators.health()
        assert (health.phase, health.wait_seconds_left) == (Phase.WAITING, 35)
        assert not server.operators.stats().is_ready
        server.state.end_wait_for_service()
        assert server.operators.health().phase is Phase.SERVING


class Logs:
    """Stands for a log that lost lines."""

    dropped = 7
    is_failing = True


async def test_lines_that_were_dropped_degrade(tmp_path):
    async with name_server(tmp_path, logs=Logs()) as server:
        stats = server.operators.stats()
        assert (stats.dropped_log_lines, stats.degraded, stats.is_ready) == (7, ("log",), True)


class LogsAgain:
    """Stands for a log that lost lines and can be written again."""

    dropped = 7
    is_failing = False


async def test_lines_that_were_dropped_once_do_not_degrade_for_ever(tmp_path):
    async with name_server(tmp_path, logs=LogsAgain()) as server:
        stats = server.operators.stats()
        assert (stats.dropped_log_lines, stats.degraded) == (7, ())


# The address list.


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, "127.0.0.1:{port}"),
        ({"bind_address": "0.0.0.0"}, ""),
        ({"address_server_list": "10.0.0.1:9876;10.0.0.2:9876"}, "10.0.0.1:9876;10.0.0.2:9876"),
    ],
)
async def test_the_address_list_is_what_clients_can_connect_to(tmp_path, flags, expected):
    async with name_server(tmp_path, **flags) as server:
        assert server.operators.nsaddr() == expected.format(port=server.port)


async def test_the_loops_delay_is_told_once(tmp_path, monkeypatch):
    async with name_server(tmp_path) as server, RemotingClient():
        monkeypatch.setattr(server.housekeeping, "_max_lag_ms", 1_500)
        assert server.operators.stats().loop_lag_max_seconds == 1.5
        assert server.operators.stats().loop_lag_max_seconds != 1.5
