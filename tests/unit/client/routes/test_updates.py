"""Updates of one topic: the requests, the answer that counts, the events."""

import asyncio
import logging

import pytest

from namekeeper.client.routes.events import RouteAppeared, RouteChanged, RouteVanished
from namekeeper.errors import NoNameServerError, NoRouteError, RouteDataError
from namekeeper.wire.command import Response
from tests.support.system.waiting import turns
from tests.unit.client.world import A, B, C, World, route, route_body


async def events_of(client, stream):
    await turns()
    return [await anext(stream) for _ in range(stream.waiting)]


async def test_all_who_ask_for_a_topic_at_once_share_one_request():
    world = World()
    world.register("T", "U")
    async with world.client() as client:
        routes = await asyncio.gather(*(client.topic_route("T") for _ in range(50)), client.topic_route("U"))
        assert sorted(topic for _, topic in world.asked) == ["T", "U"]
        assert all(found is routes[0] for found in routes[:50])
        await client.topic_route("T")
        assert len(world.asked) == 3


async def test_one_who_gives_up_does_not_end_it_for_the_others():
    world = World()
    world.register("T")
    world.held = asyncio.Event()
    async with world.client(mq_client_api_timeout_ms=60_000) as client:
        first, second = (asyncio.ensure_future(client.topic_route("T")) for _ in range(2))
        await world.time.settle()
        first.cancel()
        world.held.set()
        assert await second
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_a_failure_that_nobody_waits_for_is_no_unhandled_error():
    world = World()
    world.dead = {A}
    async with world.client() as client:
        task = asyncio.ensure_future(client.topic_route("T"))
        await asyncio.sleep(0)
        task.cancel()
        await world.time.settle()
        assert client._updates.under_way == 0


async def test_it_says_whether_anything_changed():
    world = World()
    world.register("T")
    async with world.client() as client:
        update = client.update_topic_route_info_from_name_server
        assert await update("T")
        assert not await update("T")
        assert not await update("Unknown")
        client.register_producer("P")
        assert await update("T")
        assert not await update("T")


class TestAbsence:
    async def test_one_name_server_that_forgot_is_no_reason_to_tell(self):
        world = World(A, B, C)
        world.register("T")
        async with world.client() as client, client.events() as events:
            await client.topic_route("T")
            (forgetful,) = {addr for addr, _ in world.asked}
            world.restart(forgetful)
            await events_of(client, events)
            await client.topic_route("T")
            assert await events_of(client, events) == []
            assert client.knowledge("T").absent_since is None
            world.asked.clear()
            await client.topic_route("T")
            assert forgetful not in {addr for addr, _ in world.asked}

    async def test_others_are_asked_once_and_not_with_every_poll(self):
        world = World(A, B, C)
        world.register("T")
        async with world.client() as client:
            await client.topic_route("T")
            world.delete("T")
            world.asked.clear()
            await client.topic_route("T")
            assert sorted(addr for addr, _ in world.asked) == [A, B, C]
            world.asked.clear()
            await client.topic_route("T")
            assert len(world.asked) == 1

    async def test_who_can_not_be_asked_is_named(self):
        world = World(A, B)
        world.register("T")
        async with world.client() as client, client.events() as events:
            await client.topic_route("T")
            (chosen,) = {addr for addr, _ in world.asked}
            (other,) = {A, B} - {chosen}
            world.dead = {other}
            world.delete("T")
            await events_of(client, events)
            before = await client.topic_route("T")
            assert await events_of(client, events) == [
                RouteVanished("T", before, before, (chosen,), (other,))
            ]

    async def test_what_never_was_there_does_not_vanish(self):
        world = World(A, B)
        async with world.client() as client, client.events() as events:
            with pytest.raises(NoRouteError):
                await client.topic_route("T")
            assert len(world.asked) == 1
            assert await events_of(client, events) == []
            assert client.knowledge("T").absent_since is not None

    async def test_nor_what_only_the_template_has(self):
        world = World(A, B)
        world.register()
        async with world.client() as client, client.events("T") as events:
            await client.register_producer("P").publish_message_queues("T")
            (appeared, *_) = await events_of(client, events)
            assert isinstance(appeared, RouteAppeared)
            assert appeared.is_template
            await client.topic_route("T")
            await client.topic_route("T")
            assert await events_of(client, events) == []

    async def test_an_empty_route_loses_nothing(self):
        world = World()
        world.register("T")
        async with world.client() as client, client.events() as events:
            before = await client.topic_route("T")
            await events_of(client, events)
            world.servers[A] = lambda _: Response(body=b'{"brokerDatas":[],"queueDatas":[]}')
            assert await client.topic_route("T") is before
            assert [type(event) for event in await events_of(client, events)] == [RouteVanished]

    async def test_the_log_says_it_once(self, caplog):
        caplog.set_level(logging.INFO, "namekeeper.client")
        world = World()
        world.register("T")
        async with world.client() as client:
            consumer = client.register_push_consumer("G")
            for _ in range(3):
                await consumer.subscribe("Unknown")
            await client.topic_route("T")
            world.delete("T")
            for _ in range(3):
                await client.topic_route("T")
            await world.time.advance(61)
        lines = [record.message for record in caplog.records if "No route info" in record.message]
        assert [line.split()[5] for line in lines] == ["Unknown", "T"]
        assert "stays in use" in lines[1]


async def test_an_answer_from_which_no_queues_follow_keeps_the_old_and_is_logged_once(caplog):
    world = World()
    world.register("T")
    async with world.client() as client:
        before = await client.topic_route("T")
        bad = route_body().replace(b'"queueDatas"', b'"orderTopicConf":"broker-a","queueDatas"')
        world.servers[A] = lambda _: Response(body=bad)
        for _ in range(3):
            with pytest.raises(RouteDataError, match="orderTopicConf"):
                await client.topic_route("T")
        assert client.tables.topic_route_table["T"] is before
        assert isinstance(client.knowledge("T").error, RouteDataError)
        assert caplog.text.count("is not up to date") == 1
        world.servers[A] = lambda _: Response(body=route_body(count=8))
        assert await client.topic_route("T") == route(count=8)
        assert client.knowledge("T").error is None


async def test_a_lie_of_one_is_mended_by_another():
    world = World(A, B)
    world.register("T", at=B)
    world.servers[A] = lambda _: Response(body=b"<html>")
    async with world.client() as client:
        for _ in range(3):
            assert await client.topic_route("T")
        assert client.knowledge("T").namesrv_addr == B
        assert [addr for addr, _ in world.asked].count(A) <= 1


async def test_a_route_that_changes_back_and_forth_is_told_each_time():
    world = World()
    world.register("T")
    async with world.client() as client, client.events() as events:
        await client.topic_route("T")
        await events_of(client, events)
        for version in range(2, 6):
            world.register("T", version=version, count=version)
            await client.topic_route("T")
            assert RouteChanged in map(type, await events_of(client, events))


async def test_an_outage_is_noted_for_the_client_and_the_topic():
    world = World(A, B)
    world.dead = {A, B}
    async with world.client() as client:
        with pytest.raises(NoNameServerError) as caught:
            await client.topic_route("T")
        assert client.knowledge("T").error is caught.value
        assert client.status().cut_off_since == world.time.now()
