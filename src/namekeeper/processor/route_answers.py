"""Encoded routes, kept while the data in them does not change.

A lookup of a topic that a client requested since its route last changed costs one dictionary access. After a
change the server makes the affected answers again on demand, from fragments. These are the encoded broker of
each group and the encoded queues of each row; there are few of them. The answer of a topic with a very large
route is made and sent incrementally.
"""

from collections.abc import Callable, Collection, Generator, KeysView
from functools import partial

from msgspec import Struct, structs

from namekeeper.config.settings import NamesrvSettings
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG, KvConfigStore
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.messages.bodies import (
    assemble_topic_route,
    encode_broker_data,
    encode_filter_server_table,
    encode_mappings_by_broker,
    encode_queue_data,
)
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.processor.forgetting import Forgetting
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.wide_routes import WideRoutes
from namekeeper.route.affected import NO_TOPIC, AffectedTopics, affected_topics, one_topic
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    Event,
    KvChanged,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.queries import has_many_parts, topic_route
from namekeeper.route.tables import RouteTables
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import Response

__all__ = ["KeptAnswers", "RouteAnswers", "no_route"]

WIDE_NAMES = 1_000
WIDE_PARTS = 5_000
"""A topic is *wide* if more broker names may have it, or if its route has more brokers, filter servers and
mapped queues together. Its route takes longer than an event-loop iteration."""

MAX_FRAGMENTS = 20_000
"""Fragments kept: thousands of broker names with a few kinds of topics each."""

ROUTE_HELP = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"

MAX_ALIKE_BYTES = 2 * 1024 * 1024
"""Bytes of bodies kept for topics that are alike: thousands of kinds of topics on four brokers, fifty on 300.
"""


class _Shared(Struct, gc=False):
    """An answer that topics with the same queues on the same brokers share."""

    answer: Response
    users: int = 0


class KeptAnswers:
    """Topic -> answer to 105, in one form of JSON; only those for which there is room."""

    __slots__ = ("_answers", "_shared", "bytes", "find")

    def __init__(self) -> None:
        self.bytes = 0
        """Bytes of the answers that are kept."""
        self._answers: dict[str, Response] = {}
        self._shared: dict[bytes, _Shared] = {}
        """Answers by their body."""
        self.find: Callable[[str], Response | None] = self._answers.get
        """The answer of a topic; None if it is not kept."""

    @property
    def topics(self) -> KeysView[str]:
        """Topics with answers."""
        return self._answers.keys()

    def keep(self, topic: str, body: bytes, may_keep: Callable[[int], bool]) -> Response:
        """Return the answer with this body, and keep it while there is room.

        Clients poll all topics in turn, so no answer is worth more than another.

        Args:
            topic: the topic of the answer.
            body: the answer's.
            may_keep: whether there is room for this number of additional bytes.
        """
        if topic in self._answers:
            self.forget((topic,))
        shared = self._shared.get(body)
        size = len(topic) + (len(body) if shared is None else 0)
        if not may_keep(size):
            return Response(body=body) if shared is None else shared.answer
        if shared is None:
            shared = self._shared[body] = _Shared(Response(body=body))
        self.bytes += size
        shared.users += 1
        self._answers[topic] = shared.answer
        return shared.answer

    def forget(self, topics: Collection[str]) -> None:
        """Drop the answers of some topics, where there are any."""
        pop = self._answers.pop
        for topic in topics:
            answer = pop(topic, None)
            if answer is None:
                continue
            self.bytes -= len(topic)
            shared = self._shared[answer.body]
            shared.users -= 1
            if not shared.users:
                del self._shared[answer.body]
                self.bytes -= len(answer.body)

    def forget_all(self) -> None:
        """Drop every answer."""
        self.bytes = 0
        self._answers.clear()
        self._shared.clear()


class _Alike(Struct, gc=False):
    """The answer that all topics with these rows get, as long as no group changes."""

    rows: list[TopicRow | None]
    body: bytes


def no_route(topic: str | None) -> Response:
    """The answer for a topic without route; Java prints a missing topic as null."""
    name = "null" if topic is None else topic
    remark = (
        f"No topic route info in name server for the topic: {name}\nSee {ROUTE_HELP} for further details."
    )
    return Response(ResponseCode.TOPIC_NOT_EXIST, remark)


class RouteAnswers:
    """Topic -> answer to 105, in the standard and in the legacy form."""

    def __init__(
        self,
        tables: RouteTables,
        kv_config: KvConfigStore,
        settings: NamesrvSettings,
        lookup_cache: LookupCache,
    ) -> None:
        self._tables = tables
        self._kv_config = kv_config
        self._settings = settings
        self._shows_more = _shows_more(settings)
        self._lookup_cache = lookup_cache
        self._standard, self._legacy = KeptAnswers(), KeptAnswers()
        self.forgetting = Forgetting((self._standard, self._legacy, lookup_cache), lookup_cache)
        """The answers that changes have still to drop."""
        self._alike: dict[tuple[object, ...], _Alike] = {}
        """Form, broker names and identities of their rows -> body: a cluster has few kinds of topics."""
        self._alike_bytes = 0
        self._brokers = {form: _BrokerFragments(standard=form) for form in (True, False)}
        self._queues = {form: _QueueFragments(standard=form) for form in (True, False)}
        self._wide = {
            form: WideRoutes(self._brokers[form], self._queues[form], standard=form) for form in (True, False)
        }

    @property
    def kept_bytes(self) -> int:
        """Bytes of the answers that are kept."""
        wide = self._wide[True].kept_bytes + self._wide[False].kept_bytes
        return self._standard.bytes + self._legacy.bytes + wide

    def reconfigure(self, settings: NamesrvSettings) -> None:
        """Answer by other settings from now on."""
        self._settings = settings
        self._shows_more = _shows_more(settings)
        for routes in self._wide.values():
            routes.forget_all()
        self.forgetting.forget_all()

    def forget(self, event: Event) -> None:
        """Invalidate every answer that an event may have changed, right after the event was applied.

        So once the server has answered the request that caused the event, no lookup gets the old state.
        """
        if isinstance(event, BrokerGroupChanged | BrokerGroupGone):
            self._forget_alike()
        affected = self._affected(event)
        for routes in self._wide.values():
            routes.forget(affected.among)
        self.forgetting.forget(affected)
        if isinstance(event, TopicQueuesChanged):
            self._lookup_cache.topic_answers.note_lack()

    def get(
        self,
        topic: str | None,
        standard: bool,  # noqa: FBT001 - the hot path
    ) -> Response | Sliced | None:
        """The answer with the route of a topic, incremental if it is wide; None without a route."""
        if topic is None:
            return None
        kept = (self._standard if standard else self._legacy).find(topic)
        if kept is None or self._lookup_cache.is_distrusted(topic):
            return self._answer(topic, standard=standard)
        return kept

    def is_wide(self, topic: str) -> bool:
        """Whether the route of a topic may be so large that its answer is made incrementally."""
        tables = self._tables
        index = tables.topic_index
        if index.name_count > WIDE_NAMES and len(index.names(topic)) > WIDE_NAMES:
            return True
        may_have_many = (
            topic in tables.topic_queue_mapping_info_table
            or tables.filter_server_table
            or len(tables.broker_live_table) > WIDE_PARTS
        )
        return bool(may_have_many) and has_many_parts(tables, topic, WIDE_PARTS)

    def encode_in_slices(self, route: TopicRouteData, *, standard: bool) -> Generator[None, None, bytes]:
        """Encode the route of a wide topic, yielding wherever an event-loop iteration may end."""
        return self._wide[standard].encode(route)

    def route(self, topic: str) -> TopicRouteData | None:
        """The route of a topic with its order configuration, as a value; None without a route."""
        settings = self._settings
        route = topic_route(self._tables, topic, support_acting_master=settings.support_acting_master)
        if route is None or not settings.order_message_enable:
            return route
        order = self._kv_config.find(ORDER_TOPIC_CONFIG, topic)
        return structs.replace(route, order_topic_conf=order)

    def _answer(self, topic: str, *, standard: bool) -> Response | Sliced | None:
        if self.is_wide(topic):
            find = partial(self.route, topic)
            return self._wide[standard].answer(topic, find, no_route(topic), may_keep=self._may_keep)
        tables = self._tables
        shows_more = (
            self._shows_more or tables.filter_server_table or topic in tables.topic_queue_mapping_info_table
        )
        make_body = self._own_body if shows_more else self._plain_body
        body = make_body(topic, standard=standard)
        if body is None:
            return None
        if not self._settings.route_cache_bytes:
            return Response(body=body)
        return (self._standard if standard else self._legacy).keep(topic, body, self._may_keep)

    def _may_keep(self, size: int) -> bool:
        return self.kept_bytes + size <= self._settings.route_cache_bytes

    def _own_body(self, topic: str, *, standard: bool) -> bytes | None:
        """The encoded route of a topic, made for it alone; None without a route."""
        route = self.route(topic)
        return None if route is None else self._encode(route, standard=standard)

    def _plain_body(self, topic: str, *, standard: bool) -> bytes | None:
        """The encoded route of a topic, shared by topics of equal rows; it shows rows and groups alone."""
        names, rows = self._tables.rows_by_name(topic)
        if not names:
            return None
        key = (standard, names, *map(id, rows))
        alike = self._alike.get(key)
        if alike is not None:
            return alike.body
        body = self._own_body(topic, standard=standard)
        if body is None:
            return None
        if self._alike_bytes + len(body) > MAX_ALIKE_BYTES:
            self._forget_alike()
        self._alike[key] = _Alike(rows, body)
        self._alike_bytes += len(body)
        return body

    def _forget_alike(self) -> None:
        self._alike.clear()
        self._alike_bytes = 0

    def _encode(self, route: TopicRouteData, *, standard: bool) -> bytes:
        broker, queue = self._brokers[standard], self._queues[standard]
        mappings = route.topic_queue_mapping_by_broker
        return assemble_topic_route(
            [broker(data) for data in route.broker_datas],
            [queue(data) for data in route.queue_datas],
            encode_filter_server_table(route.filter_server_table),
            route.order_topic_conf,
            encode_mappings_by_broker(mappings, standard=standard) if mappings else None,
        )

    def _affected(self, event: Event) -> AffectedTopics:
        if isinstance(event, KvChanged):
            return one_topic(event.key) if event.namespace == ORDER_TOPIC_CONFIG else NO_TOPIC
        return affected_topics(self._tables, event)


def _shows_more(settings: NamesrvSettings) -> bool:
    """Whether routes show more than rows and groups: order configuration, or slaves that act as master."""
    return settings.order_message_enable or settings.support_acting_master


class _BrokerFragments:
    """Broker name -> its encoded broker, kept as long as the broker's value is the same object."""

    def __init__(self, *, standard: bool) -> None:
        self._is_standard = standard
        self._kept: dict[str, tuple[BrokerData, bytes]] = {}

    def __call__(self, data: BrokerData) -> bytes:
        kept = self._kept.get(data.broker_name)
        if kept is not None and kept[0] is data:
            return kept[1]
        if len(self._kept) >= MAX_FRAGMENTS:
            self._kept.clear()
        fragment = encode_broker_data(data, standard=self._is_standard)
        self._kept[data.broker_name] = (data, fragment)
        return fragment


class _QueueFragments:
    """Queue data -> its encoded form."""

    def __init__(self, *, standard: bool) -> None:
        self._is_standard = standard
        self._kept: dict[QueueData, bytes] = {}

    def __call__(self, data: QueueData) -> bytes:
        fragment = self._kept.get(data)
        if fragment is None:
            if len(self._kept) >= MAX_FRAGMENTS:
                self._kept.clear()
            fragment = self._kept[data] = encode_queue_data(data, standard=self._is_standard)
        return fragment
