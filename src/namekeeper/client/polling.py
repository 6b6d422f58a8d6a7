"""Polls all topics: every 30 s, spread over the interval, with few requests at once (protocol.md 7.3)."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import Random

from msgspec import Struct, field

from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import NamekeeperError, NoNameServerError

__all__ = ["CONCURRENCY", "FIRST_DELAY_SECONDS", "Poller", "Sleep", "Timing"]

FIRST_DELAY_SECONDS = 0.01
"""As in Java."""
CONCURRENCY = 16
"""Lookups under way at once."""
SLICE = 16
"""Topics that are looked up without a pause; most programs have no more."""
SLICES = 200
"""Most parts of a round."""
SPREAD = 0.8
"""The part of the interval over which a round is spread."""
JITTER = 0.02
"""The interval is longer by a random part of up to this, so that clients don't poll at the same time."""

_log = logging.getLogger("namekeeper.client")

Sleep = Callable[[float], Awaitable[object]]
"""Waits this many seconds."""


class Timing(Struct):
    """Clock, waiting and randomness of a client; tests bring their own."""

    clock: Clock = field(default_factory=SystemClock)
    sleep: Sleep = asyncio.sleep
    rng: Random = field(default_factory=Random)


class Poller:
    """Updates all topics of a client again and again.

    Topics that were never asked for come first and without pauses, because a caller waits for them. The
    others keep their order, so that all are equally fresh. A round ends when no name server answers.
    """

    def __init__(
        self,
        topics: Callable[[], Iterable[str]],
        update: Callable[[str], Awaitable[object]],
        *,
        was_asked: Callable[[str], bool],
        interval_seconds: float,
        timing: Timing,
    ) -> None:
        """Take the parts.

        Args:
            topics: what to keep fresh; may name one twice.
            update: updates one topic.
            was_asked: whether a topic was looked up before.
            interval_seconds: from the start of a round to that of the next.
            timing: clock, waiting and randomness.
        """
        self._topics = topics
        self._update = update
        self._was_asked = was_asked
        self._interval_seconds = interval_seconds
        self._clock = timing.clock
        self._sleep = timing.sleep
        self._rng = timing.rng
        self._is_cut_off = False
        self._is_outage_logged = False

    async def run(self) -> None:
        """Poll until cancelled."""
        await self._sleep(FIRST_DELAY_SECONDS)
        while True:
            begun_ms = self._clock.now().mono_ms
            await self.round()
            took_seconds = (self._clock.now().mono_ms - begun_ms) / 1000
            interval_seconds = self._interval_seconds * (1 + JITTER * self._rng.random())
            await self._sleep(max(interval_seconds - took_seconds, FIRST_DELAY_SECONDS))

    async def round(self) -> None:
        """Update every topic once."""
        self._is_cut_off = False
        topics = list(dict.fromkeys(self._topics()))
        new = [topic for topic in topics if not self._was_asked(topic)]
        asked_before = [topic for topic in topics if self._was_asked(topic)]
        await self._update_all(new)
        size = max(SLICE, math.ceil(len(asked_before) / SLICES))
        for start in range(0, len(asked_before), size):
            if self._is_cut_off:
                return
            if start:
                await self._sleep(self._interval_seconds * SPREAD / SLICES)
            await self._update_all(asked_before[start : start + size])

    async def _update_all(self, topics: Sequence[str]) -> None:
        waiting = iter(topics)

        async def update_next() -> None:
            for topic in waiting:
                if self._is_cut_off:
                    return
                await self._update_one(topic)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONCURRENCY, len(topics))):
                group.create_task(update_next())

    async def _update_one(self, topic: str) -> None:
        try:
            await self._update(topic)
            if self._is_outage_logged:
                self._is_outage_logged = False
                _log.warning("name servers answer again")
        except NoNameServerError as error:
            self._is_cut_off = True
            if not self._is_outage_logged:
                self._is_outage_logged = True
                _log.warning("%s; routes stay in use, and each poll tries again", error)
        except NamekeeperError:
            pass  # the update has recorded and logged it
        except Exception as error:  # noqa: BLE001 - a bug must not end the poll of all the others
            _log.error("topic %s is not up to date", topic, exc_info=error)
