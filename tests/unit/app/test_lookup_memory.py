"""Who has asked for a topic since its last change, and who has not."""

from types import SimpleNamespace

import pytest

from namekeeper.app import lookup_memory
from namekeeper.app.lookup_memory import LookupMemory
from namekeeper.app.watching import Numbering
from namekeeper.errors import RequestError
from namekeeper.processor.recent_changes import CHANGES_LIMIT
from namekeeper.route.channel import Channel
from namekeeper.wire.command import Response, request
from tests.unit.app.test_watching import World


class Asking:
    """Clients of a server that remembers."""

    def __init__(self) -> None:
        self.world = World()
        self.response: Response | Exception | None = Response()
        self.memory = LookupMemory(self.handle, self.world.watch)
        self.clients: dict[str, SimpleNamespace] = {}

    def handle(self, _request, _connection):
        if isinstance(self.response, Exception):
            raise self.response
        return self.response

    def asks(self, client: str, topic: str | None = "A", code: int = 105) -> None:
        connection = SimpleNamespace(channel=Channel(len(self.clients) + 1, client))
        connection = self.clients.setdefault(client, connection)
        self.memory(request(code, {} if topic is None else {"topic": topic}), connection)

    def knows(self, topic: str = "A") -> tuple[list[str], list[str]]:
        found = self.memory.who_knows(topic)
        assert (found.since_count, found.before_count) == (len(found.since), len(found.before))
        return found.since, found.before


@pytest.fixture
def asking() -> Asking:
    return Asking()


async def test_who_asked_before_the_change_and_not_since_may_hold_the_old_route(asking):
    asking.asks("b:2")
    asking.asks("a:1")
    asking.world.change("A")
    assert asking.knows() == ([], ["a:1", "b:2"])
    asking.asks("a:1")
    asking.asks("c:3")
    assert asking.knows() == (["a:1", "c:3"], ["b:2"])
    found = asking.memory.who_knows("A")
    assert (found.change.revision, found.change.cause, found.revision) == ("5-11", "register_broker", "5-11")
    assert found.connections == 3


async def test_a_change_of_another_topic_makes_nobody_old(asking):
    asking.asks("a:1")
    asking.world.change("B")
    assert asking.knows() == (["a:1"], [])
    assert asking.memory.who_knows("A").change is None


async def test_who_asked_before_the_changes_that_are_kept_may_hold_an_old_route(asking):
    asking.asks("a:1")
    asking.world.change("A")
    for _ in range(CHANGES_LIMIT):
        asking.world.change("B")
    asking.asks("b:2")
    assert asking.memory.who_knows("A").change is None
    assert asking.knows() == (["b:2"], ["a:1"])


async def test_what_is_remembered_is_bounded_in_bytes(asking, monkeypatch):
    """Who looked up nothing for the longest time is forgotten first."""
    monkeypatch.setattr(lookup_memory, "BYTES_LIMIT", 20_000)
    for client in range(100):
        for topic in range(10):
            asking.asks(f"c:{client}", f"{'long' * 20}-{topic}")
            assert asking.memory.used_bytes <= 20_000
        asking.asks("busy:1", "A")
    assert asking.knows() == (["busy:1"], [])
    assert asking.memory.who_knows("A").connections < 20
    for connection in asking.clients.values():
        asking.memory.forget(connection.channel)
    assert asking.memory.used_bytes == 0


async def test_a_name_that_no_topic_can_have_is_not_remembered(asking):
    asking.asks("a:1", "x" * 100_000)
    assert (asking.memory.used_bytes, asking.memory.who_knows("A").connections) == (0, 0)


async def test_who_never_asked_for_the_topic_is_not_told_of(asking):
    asking.asks("a:1", "B")
    asking.asks("b:2", code=106)
    asking.asks("c:3", None)
    assert asking.knows() == ([], [])


async def test_to_be_told_that_there_is_no_route_is_to_know(asking):
    asking.response = Response(17, "No topic route info")
    asking.asks("a:1")
    assert asking.knows() == (["a:1"], [])


async def test_a_look_up_that_is_refused_is_none(asking):
    asking.response = RequestError(16, "no")
    with pytest.raises(RequestError):
        asking.asks("a:1")
    assert asking.knows() == ([], [])


async def test_who_is_gone_is_forgotten(asking):
    asking.asks("a:1")
    asking.memory.forget(asking.clients["a:1"].channel)
    asking.memory.forget(asking.clients["a:1"].channel)
    assert asking.knows() == ([], [])


async def test_of_one_connection_only_so_many_topics_are_remembered(asking, monkeypatch):
    monkeypatch.setattr(lookup_memory, "TOPICS_LIMIT", 2)
    for topic in ("A", "B", "A", "C"):
        asking.asks("a:1", topic)
    assert [asking.knows(topic)[0] for topic in ("A", "B", "C")] == [["a:1"], [], ["a:1"]]


async def test_all_are_counted_and_only_so_many_listed(asking, monkeypatch):
    monkeypatch.setattr(lookup_memory, "ADDRESSES_LIMIT", 1)
    asking.asks("a:1")
    asking.asks("b:2")
    found = asking.memory.who_knows("A")
    assert (found.since_count, found.since) == (2, ["a:1"])


async def test_numbers_that_begin_anew_are_no_older(asking):
    asking.world.change("A")
    asking.asks("a:1")
    asking.world.journal.now = Numbering(2, 1, boot=6, durable_seq=1)
    asking.world.change("A")
    assert asking.knows() == ([], ["a:1"])
    asking.asks("a:1")
    assert asking.knows() == (["a:1"], [])
