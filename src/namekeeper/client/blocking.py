"""The client for plain synchronous Python: scripts, threads, Spark's executors. No event loop in the caller.

The event loop of one background thread serves all clients of a process. A `BlockingClient` may be used by
many threads. It is pickled as its configuration and connects again where it is unpickled. After a fork,
parent and child each have their own connections.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from namekeeper.client.client_config import ClientConfig
from namekeeper.client.groups import DEFAULT_TOPIC_QUEUE_NUMS, Consumer, Producer
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.routes.event_stream import EventStream
from namekeeper.client.routes.events import TopicEvent
from namekeeper.client.routes.freshness import ClientStatus, TopicKnowledge
from namekeeper.client.routes.tables import ClientTables
from namekeeper.client.subscription import SUB_ALL, TAG, SubscriptionData
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import NamekeeperError, RemotingClosedError, RemotingTimeoutError
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import DEFAULT_TOPIC
from namekeeper.remoting.loop_thread import LoopThread, loop_thread

__all__ = ["BlockingClient", "BlockingConsumer", "BlockingEvents", "BlockingProducer"]

T = TypeVar("T")

GRACE_SECONDS = 5.0
"""Added to the limits of a call's lookups, for a busy machine."""
LOOK_UPS = 2
"""A call makes two at most: of the topic, and of the template if the topic doesn't exist."""


class BlockingClient(SpelledNames, settings=ClientConfig):
    """`MQClientInstance` in blocking form; a context manager. It connects when it is first used.

    Every call ends in time: see `mq_client_api_timeout_ms`. Beside the errors of `MQClientInstance`, calls
    raise RemotingTimeoutError if the background thread gets no turn, and RemotingClosedError after `close`.
    """

    def __init__(self, config: ClientConfig | str | None = None) -> None:
        """Take the settings, as `MQClientInstance` does; ConfigError if it is something else."""
        self.config = ClientConfig.of(config)
        self._is_closed = False
        self._timeout_seconds = LOOK_UPS * self.config.mq_client_api_timeout_ms / 1000 + GRACE_SECONDS
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._instance: MQClientInstance | None = None
        _clients.add(self)

    def __reduce__(self) -> tuple[type[Self], tuple[ClientConfig]]:
        return type(self), (self.config,)

    def __enter__(self) -> Self:
        """Open it now; ConfigError if the settings can't be used."""
        self.instance()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop keeping routes fresh, close the connections; may be called twice."""
        with self._lock:
            instance, self._instance = self._instance, None
            self._is_closed = True
        if instance is not None:
            self._run(instance.shutdown())

    def shutdown(self) -> None:
        """As `close`, by the name that `MQClientInstance` has for it."""
        self.close()

    @property
    def tables(self) -> ClientTables:
        """See `MQClientInstance.tables`: a look at tables that the background thread changes."""
        return self.instance().tables

    def topic_route(self, topic: str) -> TopicRouteData:
        """See `MQClientInstance.topic_route`."""
        return self.call(lambda client: client.topic_route(topic))

    def fetch_publish_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """See `MQClientInstance.fetch_publish_message_queues`."""
        return self.call(lambda client: client.fetch_publish_message_queues(topic))

    def fetch_subscribe_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """See `MQClientInstance.fetch_subscribe_message_queues`."""
        return self.call(lambda client: client.fetch_subscribe_message_queues(topic))

    def find_broker_address(self, queue: MessageQueue) -> str:
        """See `MQClientInstance.find_broker_address`."""
        return self.call(lambda client: client.find_broker_address(queue))

    def update_topic_route_info_from_name_server(self, topic: str) -> bool:
        """See `MQClientInstance.update_topic_route_info_from_name_server`."""
        return self.call(lambda client: client.update_topic_route_info_from_name_server(topic))

    def update_all_topic_routes(self) -> dict[str, bool | NamekeeperError]:
        """See `MQClientInstance.update_all_topic_routes`; takes as long as all topics need."""
        return self.wait(self.instance().update_all_topic_routes())

    @property
    def name_server_address_list(self) -> tuple[str, ...]:
        """The name servers in use."""
        return self.call(lambda client: _in_loop(lambda: client.name_server_address_list))

    def update_name_server_address_list(self, addrs: str) -> None:
        """See `MQClientInstance.update_name_server_address_list`."""
        self.call(lambda client: _in_loop(lambda: client.update_name_server_address_list(addrs)))

    def producer(
        self,
        producer_group: str,
        *,
        default_topic_queue_nums: int = DEFAULT_TOPIC_QUEUE_NUMS,
        create_topic_key: str = DEFAULT_TOPIC,
    ) -> "BlockingProducer":
        """Add a producer group; ConfigError if there is one of this name."""
        return BlockingProducer(self, producer_group, default_topic_queue_nums, create_topic_key)

    def push_consumer(self, consumer_group: str, *, broadcasting: bool = False) -> "BlockingConsumer":
        """Add a push consumer group; ConfigError if there is a consumer group of this name."""
        return BlockingConsumer(
            self, lambda client: client.register_push_consumer(consumer_group, broadcasting=broadcasting)
        )

    def pull_consumer(self, consumer_group: str) -> "BlockingConsumer":
        """Add a pull consumer group; ConfigError if there is a consumer group of this name."""
        return BlockingConsumer(self, lambda client: client.register_pull_consumer(consumer_group))

    def register_producer(
        self,
        producer_group: str,
        *,
        default_topic_queue_nums: int = DEFAULT_TOPIC_QUEUE_NUMS,
        create_topic_key: str = DEFAULT_TOPIC,
    ) -> "BlockingProducer":
        """As `producer`, by the name that `MQClientInstance` has for it."""
        return self.producer(
            producer_group,
            default_topic_queue_nums=default_topic_queue_nums,
            create_topic_key=create_topic_key,
        )

    def register_push_consumer(
        self, consumer_group: str, *, broadcasting: bool = False
    ) -> "BlockingConsumer":
        """As `push_consumer`, by the name that `MQClientInstance` has for it."""
        return self.push_consumer(consumer_group, broadcasting=broadcasting)

    def register_pull_consumer(self, consumer_group: str) -> "BlockingConsumer":
        """As `pull_consumer`, by the name that `MQClientInstance` has for it."""
        return self.pull_consumer(consumer_group)

    def unregister_producer(self, producer_group: str) -> None:
        """Remove a producer group; one that isn't there is ignored."""
        self.call(lambda client: _in_loop(lambda: client.unregister_producer(producer_group)))

    def unregister_consumer(self, consumer_group: str) -> None:
        """Remove a consumer group; one that isn't there is ignored."""
        self.call(lambda client: _in_loop(lambda: client.unregister_consumer(consumer_group)))

    def events(self, *topics: str) -> "BlockingEvents":
        """See `MQClientInstance.events`; here it is a plain iterator and context manager."""

        async def open_stream(client: MQClientInstance) -> EventStream:
            return client.events(*topics)

        return BlockingEvents(self, self.call(open_stream))

    def knowledge(self, topic: str) -> TopicKnowledge:
        """See `MQClientInstance.knowledge`."""

        async def look(client: MQClientInstance) -> TopicKnowledge:
            return client.knowledge(topic)

        return self.call(look)

    def status(self) -> ClientStatus:
        """See `MQClientInstance.status`."""

        async def look(client: MQClientInstance) -> ClientStatus:
            return client.status()

        return self.call(look)

    # For the other classes of this module.

    def instance(self) -> MQClientInstance:
        """The client of this process, opened if it is not."""
        instance = self._instance
        if instance is not None:
            return instance
        with self._lock:
            if self._is_closed:
                raise RemotingClosedError("client", "it is closed")
            if self._instance is None:
                # Not in the loop: reading certificate files would block all clients.
                instance = MQClientInstance(self.config)
                self._thread = loop_thread()
                self._instance = self._run(instance.__aenter__())
            return self._instance

    def call(self, operation: Callable[[MQClientInstance], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine of the client of this process, with the time limit of calls."""
        return self._run(operation(self.instance()))

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that has a time limit of its own, or none."""
        if self._thread is None:
            raise RemotingClosedError(
                "client", "its events belong to the process before the fork: open them again"
            )
        return self._thread.run(coroutine, timeout_seconds=None)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._thread is not None
        try:
            return self._thread.run(coroutine, timeout_seconds=self._timeout_seconds)
        except TimeoutError:
            raise RemotingTimeoutError(
                "client", f"the background thread gave no result within {self._timeout_seconds:g} s"
            ) from None

    def _reset_after_fork(self) -> None:
        """Forget what belongs to the parent of a forked process."""
        self._lock = threading.Lock()
        self._thread = self._instance = None


class BlockingProducer(SpelledNames):
    """`Producer` in blocking form; made by `BlockingClient.producer`."""

    def __init__(
        self,
        client: BlockingClient,
        producer_group: str,
        default_topic_queue_nums: int,
        create_topic_key: str = DEFAULT_TOPIC,
    ) -> None:
        self.producer_group = producer_group
        self._client = client
        self._create_topic_key = create_topic_key
        self._default_topic_queue_nums = default_topic_queue_nums
        self._registered: tuple[MQClientInstance, Producer] | None = None
        self._producer()

    def publish_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """See `Producer.publish_message_queues`; returns at once if the queues are known."""
        producer = self._producer()
        info = producer.topic_publish_info_table.get(topic)
        if info is not None and info.ok:
            return info.message_queues
        return self._client.call(lambda _: producer.publish_message_queues(topic))

    def unregister(self) -> None:
        """Remove the group; its topics are no longer kept fresh for it."""
        group = self.producer_group
        self._client.call(lambda client: _in_loop(lambda: client.unregister_producer(group)))

    def _producer(self) -> Producer:
        instance = self._client.instance()
        registered = self._registered
        if registered is None or registered[0] is not instance:
            return self._client.call(lambda client: _in_loop(lambda: self._register(client)))
        return registered[1]

    def _register(self, client: MQClientInstance) -> Producer:
        """Add the group, unless another thread just did; only the thread of the loop calls this."""
        if self._registered is None or self._registered[0] is not client:
            producer = client.register_producer(
                self.producer_group,
                default_topic_queue_nums=self._default_topic_queue_nums,
                create_topic_key=self._create_topic_key,
            )
            self._registered = (client, producer)
        return self._registered[1]


class BlockingConsumer(SpelledNames):
    """`Consumer` in blocking form; made by `BlockingClient.push_consumer` and `pull_consumer`."""

    def __init__(self, client: BlockingClient, register: Callable[[MQClientInstance], Consumer]) -> None:
        self._client = client
        self._register = register
        self._registered: tuple[MQClientInstance, Consumer] | None = None
        self._subscription: dict[str, SubscriptionData] = {}
        self.consumer_group = self._consumer().consumer_group

    def subscribe(
        self, topic: str, expression: str | None = SUB_ALL, *, expression_type: str = TAG
    ) -> tuple[MessageQueue, ...]:
        """See `Consumer.subscribe`; the queues are sorted."""
        consumer = self._consumer()
        queues = self._client.call(
            lambda _: consumer.subscribe(topic, expression, expression_type=expression_type)
        )
        self._subscription[topic] = consumer.subscription[topic]
        return tuple(sorted(queues))

    def unsubscribe(self, topic: str) -> None:
        """See `Consumer.unsubscribe`."""
        consumer = self._consumer()
        self._subscription.pop(topic, None)
        self._client.call(lambda _: _in_loop(lambda: consumer.unsubscribe(topic)))

    def subscribe_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the last known queues of a subscribed topic, sorted; empty if none are known yet."""
        return tuple(sorted(self._consumer().topic_subscribe_info_table.get(topic, ())))

    @property
    def subscription(self) -> dict[str, SubscriptionData]:
        """Topic -> the messages that the group wants."""
        return dict(self._consumer().subscription)

    def unregister(self) -> None:
        """Remove the group; its topics are no longer kept fresh for it."""
        group = self.consumer_group
        self._client.call(lambda client: _in_loop(lambda: client.unregister_consumer(group)))

    def _consumer(self) -> Consumer:
        instance = self._client.instance()
        registered = self._registered
        if registered is None or registered[0] is not instance:
            return self._client.call(lambda client: _in_loop(lambda: self._register_once(client)))
        return registered[1]

    def _register_once(self, client: MQClientInstance) -> Consumer:
        """Add the group, unless another thread just did; only the thread of the loop calls this."""
        if self._registered is None or self._registered[0] is not client:
            consumer = self._register(client)
            consumer.subscription.update(self._subscription)
            self._registered = (client, consumer)
        return self._registered[1]


class BlockingEvents(SpelledNames):
    """`EventStream` in blocking form; made by `BlockingClient.events`."""

    def __init__(self, client: BlockingClient, stream: EventStream) -> None:
        self._client = client
        self._stream = stream
        self._pid = os.getpid()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TopicEvent:
        """Wait for the next event without a time limit; the iteration ends when stream or client is closed.

        Raises:
            RemotingClosedError: this is a forked child; open a stream of its own.
        """
        self._check_process()
        event = self._client.wait(_next(self._stream, None))
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def next(self, *, timeout_seconds: float) -> TopicEvent | None:
        """Wait for the next event; None if none comes in time or the stream has ended.

        Raises:
            RemotingClosedError: this is a forked child; open a stream of its own.
        """
        self._check_process()
        return self._client.wait(_next(self._stream, timeout_seconds))

    def close(self) -> None:
        """End the stream; may be called twice, and does nothing in a forked child."""
        if self._pid == os.getpid():
            self._client.wait(_in_loop(self._stream.close))

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise RemotingClosedError("client", "this stream belongs to the parent process: open one here")


_clients: "weakref.WeakSet[BlockingClient]" = weakref.WeakSet()


def _forked() -> None:
    for client in list(_clients):
        client._reset_after_fork()  # noqa: SLF001 - the class's own, in this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


async def _next(stream: EventStream, timeout_seconds: float | None) -> TopicEvent | None:
    """Wait in the loop, where an event is either taken or stays in the stream."""
    try:
        async with asyncio.timeout(timeout_seconds):
            return await anext(stream)
    except (TimeoutError, StopAsyncIteration):
        return None


async def _in_loop(function: Callable[[], T]) -> T:
    """Call a function in the thread of the loop."""
    return function()
