"""The client: keeps the routes of this process's topics fresh, and turns them into queues (protocol.md 7)."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from namekeeper.client.client_config import ClientConfig, make_remoting_client, name_servers_of
from namekeeper.client.groups import DEFAULT_TOPIC_QUEUE_NUMS, Consumer, Producer, publish_queues_of
from namekeeper.client.name_servers import NameServers, NamesrvChoice
from namekeeper.client.polling import CONCURRENCY, Poller, Timing
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import topic_publish_info, topic_subscribe_info
from namekeeper.client.routes.disk_cache import RouteDiskCache
from namekeeper.client.routes.event_stream import EventStream, EventStreams
from namekeeper.client.routes.freshness import ClientStatus, TopicKnowledge
from namekeeper.client.routes.tables import ClientTables
from namekeeper.client.routes.updates import RouteUpdates
from namekeeper.client.watching import watchers_of
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import (
    ConfigError,
    NamekeeperError,
    NoNameServerError,
    NoRouteError,
    RemotingClosedError,
    RemotingConnectError,
)
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import DEFAULT_TOPIC
from namekeeper.nsaddr import AddressServer
from namekeeper.remoting.address import parse_addresses
from namekeeper.remoting.client import RemotingClient
from namekeeper.topic_name import check_topic

__all__ = ["MQClientInstance"]


class MQClientInstance(SpelledNames, settings=ClientConfig):
    """Asks name servers for routes; an async context manager.

    While it is entered, it looks up every 30 s each topic that a producer, a consumer or an event stream of
    this client uses. Routes stay valid when no name server answers. After `shutdown`, entering it and all
    calls that ask a name server raise RemotingClosedError.

    Args:
        config: the settings, or `host:port;host:port`; without it everything comes from the environment.
        remoting_client: makes the requests and belongs to this client from then on; made from `config`
            unless given.
        timing: clock, waiting and randomness; tests bring their own.
        environ: read for NAMESRV_ADDR; the process's own unless given.

    Raises:
        ConfigError: no name server is configured, or the list is malformed; the message says what to write.
    """

    def __init__(
        self,
        config: ClientConfig | str | None = None,
        *,
        remoting_client: RemotingClient | None = None,
        timing: Timing | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.config = ClientConfig.of(config)
        self.tables = ClientTables()
        """The client's tables; callers may read but not change them."""
        addrs, url = name_servers_of(self.config, environ)
        self._timing = timing or Timing()
        self._clock = self._timing.clock
        self._client = remoting_client or make_remoting_client(self.config)
        self._namesrvs = NameServers(
            NamesrvChoice(self._timing.rng), clock=self._clock, release=self._client.release
        )
        self._namesrvs.update(addrs)
        self._address_server = (
            AddressServer(url, self._namesrvs.update, sleep=self._timing.sleep) if url is not None else None
        )
        self._streams = EventStreams()
        self._saved = RouteDiskCache(self.config.route_cache_path)
        self._updates = RouteUpdates(
            self._client, self._namesrvs, tables=self.tables, streams=self._streams, clock=self._clock,
            timeout_ms=self.config.mq_client_api_timeout_ms, saved=self._saved,
        )  # fmt: skip
        self._poller = Poller(
            self._kept_fresh, self._updates.update, was_asked=self._updates.freshness.was_asked,
            interval_seconds=self.config.poll_name_server_interval_ms / 1000, timing=self._timing,
        )  # fmt: skip
        self._watchers = watchers_of(
            self.config, self._kept_fresh, self._updates.begin, sleep=self._timing.sleep
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Start; a name server or address server that can't be reached is no error."""
        if self._updates.is_closed:
            raise RemotingClosedError("client", "it was shut down: make a new one")
        if self._address_server is not None:
            await self._ask_address_server(self._address_server)
        await self._saved.load()
        watching = [("watch", watcher.run()) for watcher in self._watchers]
        for name, coroutine in (("poll", self._poller.run()), ("clean-up", self._clean_up()), *watching):
            self._tasks.append(asyncio.create_task(coroutine, name=f"{name} of the client"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.shutdown()

    async def close(self) -> None:
        """As `shutdown`, by the name that `BlockingClient` has for it."""
        await self.shutdown()

    async def shutdown(self) -> None:
        """Stop, end the event streams, close the connections; may be called twice."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._updates.close()
        self._streams.finish()
        await self._saved.save()
        await self._client.close()

    def register_producer(
        self,
        producer_group: str,
        *,
        default_topic_queue_nums: int = DEFAULT_TOPIC_QUEUE_NUMS,
        create_topic_key: str = DEFAULT_TOPIC,
    ) -> Producer:
        """Add a producer group.

        Args:
            producer_group: its name.
            default_topic_queue_nums: most queues of a topic that doesn't exist yet.
            create_topic_key: the topic whose route a topic gets that doesn't exist yet.

        Raises:
            ConfigError: there is one of this name.
            TopicNameError: no topic can have the name `create_topic_key`.
        """
        check_topic(create_topic_key)
        self._check_is_new("producer", producer_group, self.tables.producer_table)
        producer = Producer(
            producer_group,
            self.update_topic_route_info_from_name_server,
            default_topic_queue_nums=default_topic_queue_nums,
            create_topic_key=create_topic_key,
        )
        self.tables.producer_table[producer_group] = producer
        return producer

    def register_push_consumer(self, consumer_group: str, *, broadcasting: bool = False) -> Consumer:
        """Add a push consumer group, which consumes from its retry topic too unless it is broadcasting.

        Raises:
            ConfigError: there is a consumer group of this name.
        """
        return self._register_consumer(consumer_group, has_retry_topic=not broadcasting)

    def register_pull_consumer(self, consumer_group: str) -> Consumer:
        """Add a pull consumer group. Raises like `register_push_consumer`."""
        return self._register_consumer(consumer_group, has_retry_topic=False)

    def producer(
        self,
        producer_group: str,
        *,
        default_topic_queue_nums: int = DEFAULT_TOPIC_QUEUE_NUMS,
        create_topic_key: str = DEFAULT_TOPIC,
    ) -> Producer:
        """As `register_producer`, by the name that `BlockingClient` has for it."""
        return self.register_producer(
            producer_group,
            default_topic_queue_nums=default_topic_queue_nums,
            create_topic_key=create_topic_key,
        )

    def push_consumer(self, consumer_group: str, *, broadcasting: bool = False) -> Consumer:
        """As `register_push_consumer`, by the name that `BlockingClient` has for it."""
        return self.register_push_consumer(consumer_group, broadcasting=broadcasting)

    def pull_consumer(self, consumer_group: str) -> Consumer:
        """As `register_pull_consumer`, by the name that `BlockingClient` has for it."""
        return self.register_pull_consumer(consumer_group)

    def unregister_producer(self, producer_group: str) -> None:
        """Remove a producer group; one that isn't there is ignored."""
        self.tables.producer_table.pop(producer_group, None)

    def unregister_consumer(self, consumer_group: str) -> None:
        """Remove a consumer group; one that isn't there is ignored."""
        self.tables.consumer_table.pop(consumer_group, None)

    async def update_topic_route_info_from_name_server(
        self, topic: str, *, is_default: bool = False, producer: Producer | None = None
    ) -> bool:
        """Ask a name server for a topic's route now; return whether anything changed.

        Args:
            topic: its name.
            is_default: take the route of the producer's `create_topic_key` for it, with at most as many
                queues as `producer` wants; as in Java it has no effect without `producer`.
            producer: the producer that wants to send to it.

        Raises:
            NoNameServerError: no name server gave a good answer in time; what is known stays.
            RouteDataError: the answer can't be turned into queues; what is known stays.
        """
        nums = producer.default_topic_queue_nums if is_default and producer is not None else None
        template = DEFAULT_TOPIC if producer is None else producer.create_topic_key
        return await self._updates.update(topic, default_topic_queue_nums=nums, template=template)

    async def update_all_topic_routes(self) -> dict[str, bool | NamekeeperError]:
        """Ask now for the route of every topic of all producers, consumers and event streams.

        Returns:
            Topic -> whether anything changed, or why it could not be updated. When no name server answers,
            the topics that were not asked for have the same error.
        """
        results: dict[str, bool | NamekeeperError] = {}
        topics = iter(list(dict.fromkeys(self._kept_fresh())))
        outage: NoNameServerError | None = None

        async def update_next() -> None:
            nonlocal outage
            for topic in topics:
                try:
                    results[topic] = outage or await self._updates.update(topic)
                except NamekeeperError as error:
                    results[topic] = error
                    if isinstance(error, NoNameServerError):
                        outage = error

        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(update_next())
        return results

    async def topic_route(self, topic: str) -> TopicRouteData:
        """Return the route of a topic as a name server has it now, else the last known route.

        Raises:
            TopicNameError: no topic can have this name.
            NoRouteError: the name servers don't know the topic.
            NoNameServerError: none answered in time, and nothing is known.
            RouteDataError: the answer can't be turned into queues.
        """
        check_topic(topic)
        try:
            await self._updates.update(topic)
        except NoNameServerError:
            if topic not in self.tables.topic_route_table:
                raise
        route = self.tables.topic_route_table.get(topic)
        if route is None:
            raise NoRouteError(topic, "no name server knows it; create it, or start its brokers")
        return route

    async def fetch_publish_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the queues that may be sent to, in their order.

        Raises:
            NoRouteError: there is none; the message says why. Otherwise like `topic_route`.
        """
        return publish_queues_of(topic, topic_publish_info(topic, await self.topic_route(topic)))

    async def fetch_subscribe_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the queues that may be consumed from, sorted. Raises like `fetch_publish_message_queues`."""
        queues = topic_subscribe_info(topic, await self.topic_route(topic))
        if not queues:
            raise NoRouteError(topic, "it exists, but no queue may be read: see `mqadmin topicRoute`")
        return tuple(sorted(queues))

    async def find_broker_address(self, queue: MessageQueue) -> str:
        """Return the address of the master that has a queue, asking a name server if it isn't known.

        Raises:
            NoRouteError: the broker has no master that is alive. Otherwise like `topic_route`.
        """
        addr = self._master_address(queue)
        if addr is None:
            await self.topic_route(queue.topic)
            addr = self._master_address(queue)
        if addr is None:
            raise NoRouteError(
                queue.topic, f"broker {queue.broker_name} has no master; see `mqadmin clusterList`"
            )
        return addr

    def events(self, *topics: str) -> EventStream:
        """Open a stream of events of these topics, which are kept fresh while it is open, or of all topics.

        The stream gives later events; it is an async iterator and an async context manager. If the client is
        entered, it looks up topics at once that it has not looked up before.

        Raises:
            TopicNameError: no topic can have such a name.
        """
        for topic in topics:
            check_topic(topic)
        stream = self._streams.open(topics)
        if self._tasks:
            for topic in topics:
                if not self._updates.freshness.was_asked(topic):
                    _ = self._updates.begin(topic)  # the update itself records its failure
        return stream

    def knowledge(self, topic: str) -> TopicKnowledge:
        """Return when a topic was last confirmed, and what failed since."""
        has_route = topic in self.tables.topic_route_table
        return self._updates.freshness.of(topic, self._clock.now(), has_route=has_route)

    def status(self) -> ClientStatus:
        """Return when each name server last answered, and how old the oldest route is."""
        return self._updates.freshness.over_all(
            self._clock.now(), self._namesrvs.status(), topics=len(self.tables.topic_route_table)
        )

    @property
    def name_server_address_list(self) -> tuple[str, ...]:
        """The name servers in use."""
        return self._namesrvs.addrs

    def update_name_server_address_list(self, addrs: str) -> None:
        """Use other name servers from now on.

        Args:
            addrs: `host:port;host:port`.

        Raises:
            ConfigError: the list is empty or malformed; the one from before stays in use.
        """
        self._namesrvs.update(str(addr) for addr in parse_addresses(addrs))

    async def _ask_address_server(self, address_server: AddressServer) -> None:
        await address_server.ask()
        if address_server.failure is not None:
            self._namesrvs.why_none = RemotingConnectError(address_server.url, str(address_server.failure))
        coroutine = address_server.keep_asking()
        self._tasks.append(asyncio.create_task(coroutine, name="address server of the client"))

    def _kept_fresh(self) -> tuple[str, ...]:
        return (*self.tables.topics(), *self._streams.topics)

    async def _clean_up(self) -> None:
        while True:
            await self._timing.sleep(self.config.heartbeat_broker_interval_ms / 1000)
            self.tables.clean_offline_broker()
            await self._saved.save()

    def _register_consumer(self, consumer_group: str, *, has_retry_topic: bool) -> Consumer:
        self._check_is_new("consumer", consumer_group, self.tables.consumer_table)
        consumer = Consumer(
            consumer_group,
            self.update_topic_route_info_from_name_server,
            has_retry_topic=has_retry_topic,
            now_ms=lambda: self._clock.now().wall_ms,
        )
        self.tables.consumer_table[consumer_group] = consumer
        return consumer

    def _check_is_new(self, kind: str, group: str, table: Mapping[str, object]) -> None:
        if group in table:
            raise ConfigError(f"{kind} group {group!r} is registered already: take another name")

    def _master_address(self, queue: MessageQueue) -> str | None:
        return self.tables.find_broker_address_in_publish(self.tables.broker_name_of(queue))
