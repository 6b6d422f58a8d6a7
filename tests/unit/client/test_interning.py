from msgspec import convert, to_builtins

from namekeeper.client import interning
from namekeeper.client.interning import RouteInterner
from namekeeper.model.route import TopicRouteData
from tests.unit.client.world import broker, queues, route


def fresh(value: TopicRouteData) -> TopicRouteData:
    return convert(to_builtins(value, str_keys=True), TopicRouteData, strict=False)


def test_equal_parts_are_one_object_and_routes_stay_equal():
    interner = RouteInterner()
    first, second = interner.intern(fresh(route("a", "b"))), interner.intern(fresh(route("a", "b")))
    assert first == second == route("a", "b")
    assert first is not second
    for one, other in zip(
        first.broker_datas + first.queue_datas, second.broker_datas + second.queue_datas, strict=True
    ):
        assert one is other


def test_a_changed_broker_is_not_taken_for_the_old_one():
    interner = RouteInterner()
    interner.intern(TopicRouteData([broker("a", {0: "x:1"}, cluster="C1")], [queues("a")]))
    moved = TopicRouteData([broker("a", {0: "y:1"}, cluster="C1")], [queues("a", 8)])
    assert interner.intern(moved) == moved
    other_cluster = TopicRouteData([broker("a", {0: "y:1"}, cluster="C2")], [queues("a", 8)])
    assert interner.intern(other_cluster).broker_datas[0].cluster == "C2"


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(interning, "MAX_KINDS", 10)
    interner = RouteInterner()
    for n in range(100):
        interner.intern(route(f"b{n}", count=n))
    assert len(interner._brokers) <= 11
    assert len(interner._queues) <= 11


def test_all_other_parts_are_kept():
    whole = TopicRouteData([broker()], [queues()], {"a": ["f"]}, "broker-a:4", {})
    assert RouteInterner().intern(whole) == whole
