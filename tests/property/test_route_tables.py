"""The route tables under any interleaving of requests, closes, expiry and slices of running registrations."""

import dataclasses
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from namekeeper.route import registration as registration_rules
from namekeeper.route import removal
from namekeeper.route.removal import EndOfRegistration
from namekeeper.route.tables import RouteTables
from tests.differential.bodies import FORMS, Broker, TopicConfig, registration, route_body
from tests.property import laws
from tests.property.local_server import LocalServer
from tests.support.java_model.server import JavaModel
from tests.support.java_model.tables import Rules
from tests.support.java_model.values import Answer, Request

CLUSTERS, NAMES, ADDRS = ("c0", "c1"), ("b0", "b1"), ("a0:1", "a1:1", "a2:1")
TOPICS = ("T0", "T1", "T2", "rmq_sys_SYNC_BROKER_MEMBER_x")
SLOTS = (0, 1, 2)

clusters, names, addrs = st.sampled_from(CLUSTERS), st.sampled_from(NAMES), st.sampled_from(ADDRS)
topics, slots, ids = st.sampled_from(TOPICS), st.sampled_from(SLOTS), st.sampled_from((0, 1, 2))
configs = st.builds(
    TopicConfig, read=st.sampled_from((4, 8)), perm=st.sampled_from((6, 4, 7)), flag=st.sampled_from((0, 1))
)
tables_of_topics = st.dictionaries(topics, configs, max_size=4)


changes = st.one_of(
    st.just({}),
    st.just({}),
    st.builds(dict, filters=st.sampled_from(([], ["f:1"]))),
    st.builds(dict, topics=tables_of_topics),
    st.builds(dict, counter=st.sampled_from((1, 2))),
    st.builds(dict, acting=st.sampled_from((True, False, None))),
    st.builds(dict, conn=slots),
)


@st.composite
def brokers(draw: st.DrawFn) -> Broker:
    """The content of a registration; the connection is chosen when it is sent."""
    broker = Broker(
        cluster=draw(clusters), name=draw(names), broker_id=draw(ids), addr=draw(addrs), conn=0,
        form=draw(st.sampled_from(FORMS)), counter=draw(st.sampled_from((1, 2))), topics=draw(tables_of_topics),
    )  # fmt: skip
    broker.filters = draw(st.sampled_from(([], ["f:1"])))
    if broker.form in {"json5", "zip5"}:
        broker.acting = draw(st.sampled_from((True, False, None)))
        broker.zone = draw(st.sampled_from((None, "z")))
        broker.timeout = draw(st.sampled_from((None, "50")))
        broker.state = draw(st.sampled_from((0, 1)))
        mapped = draw(st.lists(topics, max_size=1))
        broker.mappings = {topic: {"bname": broker.name, "topic": topic, "epoch": 1} for topic in mapped}
    return broker


class RouteMachine(RuleBasedStateMachine):
    """Our tables beside the model with every listed difference, change by change in the order in which they happen."""

    def __init__(self) -> None:
        super().__init__()
        self.slices_before = (registration_rules.ROW_SLICE, removal.INDEX_SLICE)
        registration_rules.ROW_SLICE, removal.INDEX_SLICE = 2, 1
        self.server = LocalServer()
        self.model = JavaModel(Rules.ours())
        self.copy = RouteTables()
        self.replayed = 0
        self.now_ms = 1_000
        self.conns = {slot: slot for slot in SLOTS}
        self.next_conn = len(SLOTS)
        self.sent: list[Broker] = []
        self.fingerprints: dict[str, dict[str, int]] = {}

    def teardown(self) -> None:
        """Let everything end."""
        registration_rules.ROW_SLICE, removal.INDEX_SLICE = self.slices_before
        self.server.run_all(self.now_ms)
        self.tables_are_the_models()
        laws.check_index(self.server.state.tables, is_idle=True)

    # requests

    @initialize(acting=st.booleans(), delete=st.booleans(), order=st.booleans())
    def configure(self, acting: bool, delete: bool, order: bool) -> None:
        """Choose the switches."""
        self.switch("supportActingMaster", acting)
        self.switch("orderMessageEnable", order)
        self.switch("deleteTopicWithBrokerRegistration", delete)

    @rule(
        name=st.sampled_from(
            ("supportActingMaster", "orderMessageEnable", "deleteTopicWithBrokerRegistration")
        ),
        value=st.booleans(),
    )
    def switch(self, name: str, value: bool) -> None:
        """318, while nothing is under way: what runs is judged by the switches as they are at its end."""
        self.run_all()
        self.ask(Request(318, {}, f"{name}={value}\n".encode()), 0)

    @rule(broker=brokers(), slot=slots)
    def register(self, broker: Broker, slot: int) -> None:
        """103."""
        broker.conn = slot
        self.sent.append(broker)
        self.ask(registration(broker), slot)

    @rule(index=st.integers(0, 2), change=changes)
    def register_again(self, index: int, change: dict[str, Any]) -> None:
        """A registration sent before: byte for byte, or with one thing changed and all else as it was."""
        if self.sent:
            broker = self.sent[-1 - index % len(self.sent)]
            if change:
                broker = dataclasses.replace(broker, **change)
                self.sent.append(broker)
            self.ask(registration(broker), broker.conn)

    @rule(index=st.integers(0, 2), change=changes)
    def waver(self, index: int, change: dict[str, Any]) -> None:
        """One thing, another, and the first again: what the short cut must not take for nothing new."""
        if self.sent:
            broker = self.sent[-1 - index % len(self.sent)]
            for variant in (broker, dataclasses.replace(broker, **change), broker):
                self.ask(registration(variant), variant.conn)

    @rule(index=st.integers(0, 2), delete=st.booleans())
    def waver_with_the_switch(self, index: int, delete: bool) -> None:
        """The same before and after a change of the configuration."""
        if self.sent:
            broker = self.sent[-1 - index % len(self.sent)]
            self.ask(registration(broker), broker.conn)
            self.switch("deleteTopicWithBrokerRegistration", delete)
            self.ask(registration(broker), broker.conn)

    @rule(cluster=clusters, name=names, addr=addrs, broker_id=ids, slot=slots)
    def unregister(self, cluster: str, name: str, addr: str, broker_id: int, slot: int) -> None:
        """104, right or wrong."""
        fields = {"clusterName": cluster, "brokerName": name, "brokerAddr": addr, "brokerId": str(broker_id)}
        self.ask(Request(104, fields), slot)

    @rule(code=st.sampled_from((322, 904)), cluster=clusters, addr=addrs, slot=slots)
    def hear(self, code: int, cluster: str, addr: str, slot: int) -> None:
        """904."""
        fields = {"clusterName": cluster, "brokerName": "b0", "brokerAddr": addr, "brokerId": "0"}
        self.ask(Request(code, fields, b'{"counter":1,"stateVersion":0,"timestamp":1700000000001}'), slot)

    @rule(code=st.sampled_from((205, 327)), name=names)
    def change_perms(self, code: int, name: str) -> None:
        """205 and 327."""
        self.ask(Request(code, {"brokerName": name}), 0)

    @rule(topic=topics, cluster=st.none() | clusters)
    def delete_topic(self, topic: str, cluster: str | None) -> None:
        """216."""
        self.ask(Request(216, {"topic": topic} | ({"clusterName": cluster} if cluster else {})), 0)

    @rule(topic=topics, queues=st.dictionaries(names, configs, min_size=1))
    def register_topic(self, topic: str, queues: dict[str, TopicConfig]) -> None:
        """217."""
        self.ask(Request(217, {"topic": topic}, route_body(queues)), 0)

    @rule(
        namespace=st.sampled_from(("ORDER_TOPIC_CONFIG", "other")),
        topic=topics,
        value=st.sampled_from((None, "b0:4", "b0:8")),
    )
    def configure_order(self, namespace: str, topic: str, value: str | None) -> None:
        """100 and 102."""
        fields = {"namespace": namespace, "key": topic} | ({} if value is None else {"value": value})
        self.ask(Request(102 if value is None else 100, fields), 0)

    @rule(topic=topics, version=st.sampled_from((373, 513)), zone=st.sampled_from((None, "z")))
    def look_up(self, topic: str, version: int, zone: str | None) -> None:
        """105: never waits."""
        fields = {"topic": topic} | ({"__ZONE_MODE": "true", "__ZONE_NAME": zone} if zone else {})
        self.ask(Request(105, fields, version=version), 0)

    def ask(self, request: Request, slot: int) -> None:
        """Begin a request; the model handles it when it is done here."""
        conn = self.conns[slot]
        if request.code == 103:
            self.arrive(request, conn)
        self.server.begin(request, conn, self.now_ms, lambda answer: self.done(request, conn, answer))

    def arrive(self, request: Request, conn: int) -> None:
        """A registration refreshes when it arrives, however long it waits (docs/decisions/0015)."""
        key = (request.fields["clusterName"], request.fields["brokerAddr"])
        self.model.tables.carry(conn, key)
        if key in self.model.tables.live:
            self.model.tables.live[key].heard_ms = self.now_ms

    def done(self, request: Request, conn: int, answer: Answer) -> None:
        """Nothing of a registration whose connection is closed becomes visible."""
        if request.code != 103 or conn not in self.model.tables.closed:
            assert answer == self.model.ask(request, conn, self.now_ms)

    # what nobody asks for

    @rule()
    def turn(self) -> None:
        """One slice of the oldest registration."""
        self.server.turn(self.now_ms)

    @rule()
    def run_all(self) -> None:
        """Everything that is under way or waits."""
        self.server.run_all(self.now_ms)

    @rule(slot=slots)
    def close(self, slot: int) -> None:
        """A connection breaks, perhaps in the middle of a registration over it."""
        conn = self.conns[slot]
        self.conns[slot] = self.next_conn
        self.next_conn += 1
        self.model.tables.closed.add(conn)
        self.server.close(conn, self.now_ms, self.ended)

    @rule(passed_ms=st.sampled_from((1, 30, 60, 120_001)))
    def scan(self, passed_ms: int) -> None:
        """Time passes; what is overdue expires."""
        self.now_ms += passed_ms
        self.server.scan(self.now_ms, self.expired)

    def ended(self, end: EndOfRegistration) -> None:
        """A registration lost its connection, unless it is a newer one by now."""
        self.model.tables.end(end.key, end.gen)

    def expired(self, end: EndOfRegistration) -> None:
        """A registration expired, unless it is a newer one or was heard of by now."""
        live = self.model.tables.live.get(end.key)
        if live is not None and live.heard_ms + live.timeout_ms < self.now_ms:
            self.model.tables.end(end.key, end.gen)

    # laws

    @invariant()
    def tables_are_the_models(self) -> None:
        """Our tables hold what the model's do."""
        ours = laws.contents(self.server.state.tables)
        for table, theirs in laws.model_contents(self.model.tables).items():
            assert ours[table] == theirs, table

    @invariant()
    def indexes_agree(self) -> None:
        """Every index agrees with its table."""
        tables = self.server.state.tables
        laws.check_index(tables, is_idle=not self.server.queue.is_busy)
        laws.check_live_indexes(tables)
        laws.check_members(tables)
        laws.check_clusters(tables)

    @invariant()
    def events_give_the_tables(self) -> None:
        """A copy that only knows the events is the same."""
        events: list[Any] = self.server.events
        self.copy.apply_all(events[self.replayed :])
        self.replayed = len(events)
        assert laws.contents(self.copy) == laws.contents(self.server.state.tables)

    @invariant()
    def fingerprints_are_of_the_content(self) -> None:
        """Equal content has equal fingerprints, other content others: however it came about."""
        laws.check_fingerprints(self.server.state.tables, self.fingerprints)
        laws.check_fingerprints(self.copy, self.fingerprints)

    @invariant()
    def kept_routes_are_fresh(self) -> None:
        """What a client gets is what would be encoded now."""
        laws.check_cached_routes(self.server.state, list(TOPICS))
        laws.check_look_up_cache(self.server.state, list(TOPICS))


RouteMachine.TestCase.settings = settings(
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
)


class TestRouteTables(RouteMachine.TestCase):
    """Run the machine."""

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        super().runTest()
