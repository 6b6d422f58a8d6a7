import asyncio

from namekeeper.client.routes.event_stream import EventStreams
from namekeeper.client.routes.events import RouteAppeared, RouteChanged
from tests.support.system.waiting import turns
from tests.unit.client.world import route

R1, R2, R3 = route(count=1), route(count=2), route(count=3)


def appeared(topic: str) -> RouteAppeared:
    return RouteAppeared(topic, R1)


async def test_every_stream_gets_what_it_asked_for():
    streams = EventStreams()
    everything, one = streams.open([]), streams.open(["T1"])
    streams.put([appeared("T1"), appeared("T2")])
    assert [await anext(everything), await anext(everything)] == [appeared("T1"), appeared("T2")]
    assert await anext(one) == appeared("T1")
    assert (everything.waiting, one.waiting) == (0, 0)
    assert list(streams.topics) == ["T1"]


async def test_a_slow_reader_gets_one_event_for_each_topic_in_the_order_of_the_first():
    streams = EventStreams()
    stream = streams.open([])
    streams.put([RouteChanged("A", R1, R2), appeared("B")])
    for _ in range(1_000):
        streams.put([RouteChanged("A", R2, R3), RouteChanged("A", R3, R2)])
    assert stream.waiting == 2
    assert await anext(stream) == RouteChanged("A", R1, R2)
    assert await anext(stream) == appeared("B")


async def test_what_cancels_out_is_never_seen():
    streams = EventStreams()
    stream = streams.open([])
    streams.put([RouteChanged("A", R1, R2), RouteChanged("A", R2, R1), appeared("B")])
    assert await anext(stream) == appeared("B")
    assert stream.waiting == 0


async def test_a_reader_waits_for_what_comes():
    streams = EventStreams()
    stream = streams.open([])
    reading = asyncio.ensure_future(anext(stream))
    await turns()
    streams.put([RouteChanged("A", R1, R2), RouteChanged("A", R2, R1)])  # wakes it for nothing
    await turns()
    assert not reading.done()
    streams.put([appeared("B")])
    assert await reading == appeared("B")


async def test_a_reader_that_gives_up_loses_nothing():
    streams = EventStreams()
    stream = streams.open([])
    reading = asyncio.ensure_future(anext(stream))
    await turns()
    streams.put([appeared("A")])
    reading.cancel()
    await turns()
    assert reading.cancelled()
    assert await anext(stream) == appeared("A")


async def test_when_all_is_finished_what_waits_is_read_first():
    streams = EventStreams()
    stream = streams.open([])
    waiting = streams.open([])
    reading = asyncio.ensure_future(anext(waiting, "end"))
    await turns()
    streams.put([appeared("A")])
    streams.finish()
    streams.put([appeared("B")])
    assert [event async for event in stream] == [appeared("A")]
    assert await reading == appeared("A")
    assert [event async for event in streams.open([])] == []


async def test_a_stream_that_is_closed_is_at_its_end_and_asks_for_nothing():
    streams = EventStreams()
    async with streams.open(["T"]) as stream:
        streams.put([appeared("T")])
    assert [event async for event in stream] == []
    assert list(streams.topics) == []
    stream.close()
    stream.put(appeared("T"))
    assert stream.waiting == 0
