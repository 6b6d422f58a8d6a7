"""The client from start to shutdown, with name servers that come, go and change; no network, no waiting."""

import asyncio

import pytest

from namekeeper.client.client_config import ClientConfig
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.routes.events import (
    PublishQueuesChanged,
    RouteAppeared,
    RouteChanged,
    RouteVanished,
    SubscribeQueuesChanged,
)
from namekeeper.errors import (
    ConfigError,
    NoNameServerError,
    NoRouteError,
    RemotingClosedError,
    TopicNameError,
)
from tests.unit.client.world import A, B, C, World


def queues_of(topic: str, name: str = "broker-a", count: int = 4) -> tuple[MessageQueue, ...]:
    return tuple(MessageQueue(topic, name, n) for n in range(count))


async def test_the_queues_of_a_topic_can_be_asked_for():
    world = World()
    world.register("T")
    async with world.client() as client:
        assert await client.fetch_publish_message_queues("T") == queues_of("T")
        assert await client.fetch_subscribe_message_queues("T") == queues_of("T")
        assert await client.find_broker_address(MessageQueue("T", "broker-a", 0)) == "broker-a:10911"
        assert (await client.topic_route("T")).broker_datas[0].broker_name == "broker-a"


class TestProducers:
    async def test_a_producer_finds_its_queues_and_does_not_ask_again(self):
        world = World()
        world.register("T")
        async with world.client() as client:
            producer = client.register_producer("P")
            assert await producer.publish_message_queues("T") == queues_of("T")
            asked = len(world.asked)
            assert await producer.publish_message_queues("T") == queues_of("T")
            assert len(world.asked) == asked

    @pytest.mark.parametrize("change", [{"count": 8}, {"perm": 4}, {"count": 8, "name": "broker-b"}])
    async def test_its_view_is_right_within_one_refresh_of_a_change(self, change):
        world = World(A, B)
        world.register("T")
        async with world.client() as client:
            producer = client.register_producer("P")
            await producer.publish_message_queues("T")
            await world.time.advance(1)
            world.register("T", version=2, **change)
            await world.time.advance(31)
            expected = queues_of("T", change.get("name", "broker-a"), change.get("count", 4))
            if "name" in change:
                expected = queues_of("T") + expected
            if change.get("perm") == 4:
                expected = ()
            assert producer.topic_publish_info_table["T"].message_queues == expected

    async def test_a_topic_that_does_not_exist_gets_the_queues_of_the_template(self):
        world = World()
        world.register(count=8)
        async with world.client() as client:
            producer = client.register_producer("P", default_topic_queue_nums=3)
            assert await producer.publish_message_queues("New") == queues_of("New", count=3)
            assert client.knowledge("New").is_template
            world.register("New", version=2, count=8)  # the broker has created it
            await world.time.advance(31)
            assert producer.topic_publish_info_table["New"].message_queues == queues_of("New", count=8)
            assert not client.knowledge("New").is_template

    async def test_a_topic_without_a_writable_queue_is_not_taken_from_the_template(self):
        world = World()
        world.register("T", perm=4)
        async with world.client() as client:
            producer = client.register_producer("P")
            with pytest.raises(NoRouteError, match="no queue may be written to"):
                await producer.publish_message_queues("T")
            assert [topic for _, topic in world.asked].count("TBW102") == 0
            with pytest.raises(NoRouteError, match="no queue may be written to"):
                await client.fetch_publish_message_queues("T")

    async def test_all_producers_of_a_process_get_every_route(self):
        world = World()
        world.register("T")
        async with world.client() as client:
            first, second = client.register_producer("P1"), client.register_producer("P2")
            await first.publish_message_queues("T")
            assert second.topic_publish_info_table["T"].message_queues == queues_of("T")

    async def test_a_group_is_registered_once_and_may_come_again(self):
        async with World().client() as client:
            client.register_producer("P")
            client.register_pull_consumer("C")
            with pytest.raises(ConfigError, match="'P' is registered already: take another name"):
                client.register_producer("P")
            with pytest.raises(ConfigError, match="'C' is registered already"):
                client.register_push_consumer("C")
            client.unregister_producer("P")
            client.unregister_consumer("C")
            client.register_producer("P")
            client.register_push_consumer("C")


class TestConsumers:
    async def test_a_consumer_sees_the_queues_of_its_topics_and_their_changes(self):
        world = World()
        world.register("T")
        async with world.client() as client:
            consumer = client.register_push_consumer("G")
            assert await consumer.subscribe("T") == frozenset(queues_of("T"))
            assert await consumer.subscribe("Later") == frozenset()
            world.register("T", "Later", "%RETRY%G", version=2, count=2)
            await world.time.advance(31)
            assert consumer.topic_subscribe_info_table == {
                topic: frozenset(queues_of(topic, count=2)) for topic in ("T", "Later", "%RETRY%G")
            }

    @pytest.mark.parametrize("broadcasting", [True, False])
    async def test_only_consumers_that_share_queues_have_a_retry_topic(self, broadcasting):
        world = World()
        async with world.client() as client:
            client.register_push_consumer("G", broadcasting=broadcasting)
            client.register_pull_consumer("H")
            await world.time.advance(1)
        assert [topic for _, topic in world.asked] == ([] if broadcasting else ["%RETRY%G"])

    async def test_what_nobody_subscribes_to_any_more_is_not_asked_for(self):
        world = World()
        world.register("T")
        async with world.client() as client:
            consumer = client.register_pull_consumer("G")
            await consumer.subscribe("T")
            consumer.unsubscribe("T")
            world.asked.clear()
            await world.time.advance(100)
            assert world.asked == []

    async def test_a_topic_that_may_not_be_read_says_so(self):
        world = World()
        world.register("T", perm=2)
        async with world.client() as client:
            with pytest.raises(NoRouteError, match="no queue may be read"):
                await client.fetch_subscribe_message_queues("T")


class TestOutages:
    async def test_no_route_is_lost_while_name_servers_die_in_turn_and_together_and_come_back_empty(self):
        world = World(A, B, C)
        world.register("T")
        async with world.client() as client, client.events() as events:
            producer = client.register_producer("P")
            consumer = client.register_push_consumer("G")
            await producer.publish_message_queues("T")
            await consumer.subscribe("T")

            async def a_minute_passes():
                for _ in range(6):
                    await world.time.advance(10)
                    assert await producer.publish_message_queues("T") == queues_of("T")
                    assert consumer.topic_subscribe_info_table["T"] == frozenset(queues_of("T"))
                    assert (await client.topic_route("T")).queue_datas

            for addr in (A, B, C):  # in turn, each comes back empty and is filled by its broker
                world.dead = {addr}
                await a_minute_passes()
                world.restart(addr)
                world.dead = set()
                await a_minute_passes()
                world.register("T", at=addr)
            world.dead = {A, B, C}  # together
            await a_minute_passes()
            assert client.status().cut_off_since is not None
            assert client.knowledge("T").age_ms >= 50_000
            assert isinstance(client.knowledge("T").error, NoNameServerError)
            for addr in (A, B, C):
                world.restart(addr)
            world.dead = set()  # all of them empty
            await a_minute_passes()
            assert client.knowledge("T").absent_since is not None
            world.register("T")
            await world.time.advance(31)
            assert client.knowledge("T").absent_since is None
            assert client.knowledge("T").age_ms <= 31_000
            assert client.status().cut_off_since is None
            await client.shutdown()
            read = [event async for event in events if event.topic == "T"]
            assert RouteVanished not in map(type, read)  # what was read at the end is what remained true

    async def test_what_was_never_known_says_which_name_servers_failed(self):
        world = World(A, B)
        world.dead = {A}
        world.silent = {B}
        async with world.client() as client:
            with pytest.raises(NoNameServerError, match="refused") as caught:
                await client.topic_route("T")
            assert set(caught.value.failures) == {A, B}
            assert "no answer" in str(caught.value.failures[B])
            statuses = {status.addr: status for status in client.status().namesrvs}
            assert statuses[A].error is caught.value.failures[A]
            assert statuses[B].answered_at is None

    async def test_the_route_of_before_is_the_answer_when_nobody_answers(self):
        world = World()
        world.register("T")
        async with world.client() as client:
            before = await client.topic_route("T")
            world.dead = {A}
            assert await client.topic_route("T") is before

    async def test_brokers_that_no_route_names_are_forgotten(self):
        world = World()
        world.register("T")
        world.register("T", name="broker-b")
        async with world.client() as client:
            consumer = client.register_pull_consumer("G")
            await consumer.subscribe("T")
            assert client.tables.find_broker_address_in_publish("broker-b") == "broker-b:10911"
            world.restart(A)
            world.register("T")
            await world.time.advance(62)
            assert client.tables.find_broker_address_in_publish("broker-b") is None
            with pytest.raises(NoRouteError, match="broker-b has no master"):
                await client.find_broker_address(MessageQueue("T", "broker-b", 0))


class TestEvents:
    async def test_a_topic_appears_changes_vanishes_and_appears_again(self):
        world = World(A, B)
        async with world.client() as client, client.events("T") as events:
            await world.time.advance(1)
            world.register("T")
            world.register("Other")
            await world.time.advance(31)
            appeared, publish, subscribe = [await anext(events) for _ in range(3)]
            assert isinstance(appeared, RouteAppeared)
            assert publish == PublishQueuesChanged("T", (), queues_of("T"))
            assert subscribe == SubscribeQueuesChanged("T", frozenset(), frozenset(queues_of("T")))
            world.register("T", version=2, perm=4)
            await world.time.advance(31)
            changed, publish = [await anext(events) for _ in range(2)]
            assert isinstance(changed, RouteChanged)
            assert changed.old == appeared.route
            assert publish == PublishQueuesChanged("T", queues_of("T"), ())
            world.delete("T")
            await world.time.advance(31)
            vanished = await anext(events)
            assert isinstance(vanished, RouteVanished)
            assert (vanished.last, set(vanished.reported_by)) == (changed.new, {A, B})
            await world.time.advance(61)
            assert events.waiting == 0
            world.register("T", version=3, perm=4)
            await world.time.advance(31)
            assert [await anext(events)] == [RouteAppeared("T", changed.new)]

    async def test_topics_of_a_stream_are_asked_for_at_once_unless_they_are_known(self):
        world = World()
        world.register("T")
        async with world.client() as client:
            await world.time.advance(1)
            async with client.events("T", "Unknown") as events:
                assert isinstance(await anext(events), RouteAppeared)
                await world.time.settle()
                assert world.asked == [(A, "T"), (A, "Unknown")]
                client.events("T")
                await world.time.settle()
                assert len(world.asked) == 2
            world.dead = {A}
            client.events("Never")  # nobody waits for its failure; it is noted
            await world.time.settle()
            assert isinstance(client.knowledge("Never").error, NoNameServerError)

    async def test_a_stream_ends_with_the_client(self):
        async with World().client() as client:
            events = client.events("T")
            waiting = asyncio.ensure_future(anext(events, "the end"))
            await asyncio.sleep(0)
        assert await waiting == "the end"
        assert await anext(client.events("T"), "the end") == "the end"

    async def test_a_name_that_no_topic_has_is_refused_everywhere(self):
        async with World().client() as client:
            bad = "white space"
            with pytest.raises(TopicNameError):
                client.events(bad)
            for asking in (
                client.topic_route(bad),
                client.fetch_publish_message_queues(bad),
                client.register_producer("P").publish_message_queues(bad),
                client.register_pull_consumer("G").subscribe(bad),
            ):
                with pytest.raises(TopicNameError):
                    await asking


class TestNameServerList:
    async def test_it_may_change_while_running(self):
        world = World(A, B)
        world.register("T", at=B)
        async with world.client(A) as client:
            with pytest.raises(NoRouteError):
                await client.topic_route("T")
            client.update_name_server_address_list(B)
            assert client.name_server_address_list == (B,)
            assert world.released == [A]
            assert await client.topic_route("T")

    @pytest.mark.parametrize("text", ["", ";", "host", "host:0", "host:x", "a:1;b"])
    async def test_a_list_that_can_not_be_used_changes_nothing(self, text):
        async with World().client() as client:
            with pytest.raises(ConfigError, match=r"host:port|between 1 and 65535"):
                client.update_name_server_address_list(text)
            assert client.name_server_address_list == (A,)

    async def test_without_any_the_error_says_what_to_do(self):
        with pytest.raises(ConfigError, match="NAMESRV_ADDR"):
            MQClientInstance(ClientConfig(), environ={})

    async def test_the_environment_may_name_them(self):
        client = MQClientInstance(environ={"NAMESRV_ADDR": f"{A};[::1]:9876"})
        assert set(client.name_server_address_list) == {A, "[::1]:9876"}
        await client.shutdown()

    async def test_an_address_server_that_is_away_is_asked_again(self, monkeypatch):
        world = World()
        world.register("T")
        pages = [ConfigError("no list: away"), [A], [A]]

        async def fetch(url):
            page = pages.pop(0)
            if isinstance(page, Exception):
                raise page
            return page

        client = world.client("", namesrv_domain="nowhere.example")
        monkeypatch.setattr(client._address_server, "_fetch", fetch)
        async with client:
            with pytest.raises(NoNameServerError, match=r"nowhere.example:8080/rocketmq/nsaddr.*away"):
                await client.topic_route("T")
            await world.time.advance(11)
            assert await client.topic_route("T")
            await world.time.advance(120)
            assert pages == []


class TestClosing:
    async def test_a_client_can_be_shut_down_twice_and_then_says_so(self):
        world = World()
        async with world.client() as client:
            await client.shutdown()
        assert world.is_closed
        with pytest.raises(RemotingClosedError, match="shut down"):
            await client.topic_route("T")

    async def test_a_client_that_was_shut_down_can_t_be_entered_again(self):
        world = World()
        async with world.client() as client:
            pass
        with pytest.raises(RemotingClosedError, match="make a new one"):
            await client.__aenter__()

    async def test_who_waits_is_told(self):
        world = World()
        world.held = asyncio.Event()
        async with world.client(mq_client_api_timeout_ms=60_000) as client:
            waiting = asyncio.ensure_future(client.topic_route("T"))
            await world.time.settle()
        with pytest.raises(RemotingClosedError, match="shut down meanwhile"):
            await waiting

    async def test_a_client_that_was_never_entered_can_be_shut_down(self):
        world = World()
        await world.client().shutdown()
        assert world.asked == []


async def test_a_day_costs_at_most_the_requests_of_the_java_client():
    world = World(A, B, C)
    topics = [f"T{n}" for n in range(5)]
    world.register(*topics)
    async with world.client() as client:
        consumer = client.register_pull_consumer("G")
        producer = client.register_producer("P")
        for topic in topics:
            await consumer.subscribe(topic)
            await producer.publish_message_queues(topic)
        world.asked.clear()
        await world.time.advance(600)
        assert 0.95 * 5 * 20 <= len(world.asked) <= 5 * 20
        assert len({addr for addr, _ in world.asked}) == 1  # the choice is sticky


async def test_a_topic_that_does_not_exist_gets_the_queues_of_the_producer_s_template():
    world = World(A)
    world.register("MY_TEMPLATE", count=2)
    async with world.client() as client:
        producer = client.register_producer("P", create_topic_key="MY_TEMPLATE")
        assert len(await producer.publish_message_queues("new")) == 2
        assert (A, "MY_TEMPLATE") in world.asked
        assert (A, "TBW102") not in world.asked
        with pytest.raises(TopicNameError):
            client.register_producer("Q", create_topic_key="no topic")


async def test_one_call_updates_every_topic_of_all_groups_and_streams():
    world = World(A)
    world.register("T", "U", "V", "W")
    async with world.client() as client:
        await client.register_producer("P").publish_message_queues("T")
        await client.register_pull_consumer("G").subscribe("U")
        client.events("V")
        await client.topic_route("W")  # only fetched: not kept fresh
        world.register("T", "U", "V", "W", version=2, count=2)
        results = await client.update_all_topic_routes()
        assert results.pop("W", None) in {None, True}
        assert results.keys() >= {"T", "U", "V"}
        assert len(client.tables.topic_route_table["U"].queue_datas) == 1
        assert all(
            client.tables.topic_route_table[topic].queue_datas[0].write_queue_nums == 2 for topic in "TUV"
        )


async def test_when_no_name_server_answers_every_topic_has_the_error():
    world = World(A)
    world.register("T", "U")
    async with world.client() as client:
        consumer = client.register_pull_consumer("G")
        await consumer.subscribe("T")
        await consumer.subscribe("U")
        world.dead.add(A)
        results = await client.update_all_topic_routes()
        assert {topic: type(error).__name__ for topic, error in results.items()} == {
            "T": "NoNameServerError", "U": "NoNameServerError",
        }  # fmt: skip


async def test_a_subscription_has_expression_tags_and_version():
    world = World(A)
    world.register("T")
    async with world.client() as client:
        consumer = client.register_push_consumer("G")
        await consumer.subscribe("T", "TagA || TagB")
        found = consumer.subscription["T"]
        assert found.tags_set == {"TagA", "TagB"}
        assert found.sub_version == world.time.now().wall_ms
        assert consumer.subscription["%RETRY%G"].sub_string == "*"
        with pytest.raises(ConfigError):
            await consumer.subscribe("T", "||")
        assert consumer.subscription["T"] == found
