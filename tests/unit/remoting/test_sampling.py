"""Which look-ups are timed, and that the next one is not."""

import gc
from weakref import ref

import pytest

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting.sampling import LookupSampler
from namekeeper.wire.command import RemotingCommand, Response
from tests.unit.remoting.joined import Joined, frame


class Sampled(Joined):
    """A joined connection of a server whose cache learns what it answers, and which can be sampled."""

    def __init__(self) -> None:
        self.cache = LookupCache(100_000)
        self.took: list[tuple[float, int]] = []
        super().__init__(self.answer, lookup_cache=self.cache)
        self.sampler = LookupSampler(self.context)
        self.usual = (self.context.handler, self.connection.read)

    def answer(self, request: RemotingCommand, _connection: object) -> Response:
        if request.header and request.code == 105:
            self.cache.learn(
                request.header, request.opaque, topic="T", body=b"", revision=self.cache.revision
            )
        return Response()

    def sample(self) -> None:
        self.sampler.sample(lambda seconds, count: self.took.append((seconds, count)))

    @property
    def is_usual(self) -> bool:
        return (self.context.handler, self.connection.read) == self.usual


@pytest.fixture
async def joined():
    return Sampled()


async def test_a_look_up_that_the_handler_answers_is_timed_once(joined):
    joined.sample()
    joined.deliver(frame(1) + frame(2, code=105, body=b"more"))
    (sample,) = joined.took
    assert sample[0] > 0
    assert sample[1] == 1
    assert joined.is_usual
    assert [answer.opaque for answer in joined.answers] == [1, 2]


async def test_look_ups_that_the_cache_knows_are_timed_together(joined):
    joined.deliver(frame(1))
    joined.sample()
    joined.deliver(frame(2) + frame(3))
    joined.deliver(frame(4))
    assert [count for _, count in joined.took] == [2]
    assert joined.connection.read == joined.usual[1]
    assert [answer.opaque for answer in joined.answers] == [1, 2, 3, 4]


async def test_other_requests_are_no_sample_of_look_ups(joined):
    joined.sample()
    joined.deliver(frame(1, code=106))
    assert joined.took == []
    joined.deliver(frame(2))
    assert [count for _, count in joined.took] == [1]
    assert joined.is_usual


async def test_a_sample_that_was_not_taken_yet_is_not_asked_for_again(joined):
    for _ in range(5):
        joined.sample()
    joined.deliver(frame(1))
    joined.deliver(frame(2))
    joined.deliver(frame(3))
    assert len(joined.took) <= 2
    assert joined.is_usual


@pytest.mark.parametrize("is_picked", [True, False])
async def test_a_lost_connection_is_free_at_once_though_a_round_of_samples_began_with_it(is_picked):
    """10,000 half frames stayed until each other connection had been sampled, or the collector came."""
    joined = Sampled()
    other = Joined(context=joined.context)
    joined.sample()  # one of the two
    lost, stays = joined.connection, other.connection
    if (lost.read == lost.reader.feed) is is_picked:
        lost, stays = stays, lost
    lost.data_received(frame(1, body=bytes(1_000))[:-1])
    gone = ref(lost)
    gc.disable()
    try:
        lost.connection_lost(None)
        joined.connection = other.connection = stays
        joined.transport.protocol = other.transport.protocol = None
        del lost
        assert gone() is None
    finally:
        gc.enable()


async def test_without_connections_there_is_nothing_to_time(joined):
    joined.context.connections.clear()
    joined.sample()
    joined.sample()
    assert joined.connection.read == joined.usual[1]
