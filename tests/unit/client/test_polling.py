import asyncio
from itertools import pairwise
from random import Random

import pytest

from namekeeper.client import polling
from namekeeper.client.polling import Poller, Timing
from namekeeper.errors import NoNameServerError, RemotingTimeoutError
from tests.support.system.fake_time import FakeTime

INTERVAL = 30.0


class Polled:
    """Counts what is updated, and when."""

    def __init__(self, *topics: str) -> None:
        self.time = FakeTime()
        self.topics = list(topics)
        self.asked: list[tuple[float, str]] = []
        self.known: set[str] = set()
        self.in_flight = self.most = 0
        self.failure: Exception | None = None
        self.failing: set[str] = set()
        self.poller = Poller(
            lambda: self.topics,
            self.update,
            was_asked=lambda topic: topic in self.known,
            interval_seconds=INTERVAL,
            timing=Timing(clock=self.time, sleep=self.time.sleep, rng=Random(1)),
        )

    async def update(self, topic: str) -> None:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        self.asked.append(((self.time.now().mono_ms - FakeTime().now().mono_ms) / 1000, topic))
        self.known.add(topic)
        if self.failure is not None and (not self.failing or topic in self.failing):
            raise self.failure

    async def run_for(self, seconds: float) -> None:
        task = asyncio.ensure_future(self.poller.run())
        await self.time.advance(seconds)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_the_first_round_is_at_once_and_the_others_follow_in_their_time():
    polled = Polled("T", "U", "T")
    await polled.run_for(100)
    assert [topic for _, topic in polled.asked] == ["T", "U"] * 4
    times = [at for at, topic in polled.asked if topic == "T"]
    assert times[0] == pytest.approx(0.01)
    for before, after in pairwise(times):
        assert INTERVAL <= after - before <= INTERVAL * 1.03


async def test_many_topics_are_spread_over_the_interval_with_few_under_way(monkeypatch):
    monkeypatch.setattr(polling, "SLICES", 20)
    polled = Polled(*(f"T{n}" for n in range(400)))
    polled.known.update(polled.topics)
    task = asyncio.ensure_future(polled.poller.round())
    await polled.time.advance(INTERVAL)
    await task
    assert [topic for _, topic in polled.asked] == polled.topics
    times = [at for at, _ in polled.asked]
    assert times[-1] - times[0] == pytest.approx(INTERVAL * polling.SPREAD * 19 / 20, abs=0.1)
    assert max(sum(at <= other < at + 1 for other in times) for at in times[::50]) <= 400 / 20
    assert polled.most <= polling.CONCURRENCY


async def test_who_is_waited_for_comes_first_and_without_pauses_and_once():
    polled = Polled(*(f"T{n}" for n in range(40)), *(f"new{n}" for n in range(500)))
    polled.known.update(f"T{n}" for n in range(40))
    task = asyncio.ensure_future(polled.poller.round())
    await polled.time.advance(INTERVAL)
    await task
    assert {topic[:3] for _, topic in polled.asked[:500]} == {"new"}
    assert {at for at, _ in polled.asked[:500]} == {0.0}
    assert len(polled.asked) == 540
    assert polled.most <= polling.CONCURRENCY


async def test_a_round_ends_when_no_name_server_answers_and_the_next_begins_as_ever(caplog):
    polled = Polled(*(f"T{n}" for n in range(1_000)))
    polled.failure = NoNameServerError({})
    await polled.run_for(50)
    assert len(polled.asked) <= 2 * polling.CONCURRENCY
    assert caplog.text.count("routes stay in use") == 1
    assert "answer again" not in caplog.text
    polled.failure = None
    polled.asked.clear()
    polled.known.clear()
    await polled.poller.round()
    assert len(polled.asked) == 1_000
    assert caplog.text.count("answer again") == 1


async def test_a_failure_or_a_bug_at_one_topic_costs_no_other(caplog):
    polled = Polled("T", "bad", "U")
    polled.failing = {"bad"}
    for failure in (RemotingTimeoutError("a:1", "late"), ZeroDivisionError("a bug")):
        polled.failure = failure
        polled.asked.clear()
        await polled.poller.round()
        assert sorted(topic for _, topic in polled.asked) == ["T", "U", "bad"]
    assert "topic bad is not up to date" in caplog.text
    assert "a bug" in caplog.text


async def test_a_round_that_takes_longer_than_the_interval_is_followed_by_the_next():
    polled = Polled("T")
    slow = polled.update

    async def update(topic: str) -> None:
        await polled.time.sleep(100)
        await slow(topic)

    polled.poller._update = update
    await polled.run_for(350)
    assert len(polled.asked) == 3


def test_the_defaults_are_the_machine_s():
    assert Timing().sleep is asyncio.sleep
    assert Timing().clock.now().wall_ms > 0
