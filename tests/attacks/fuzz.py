"""Random mixes of the attacks, several at once and each for a while only, with the same limits."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence

from tests.attacks.crowds import map_queues, start_with_wide_topic
from tests.attacks.peers import Target
from tests.attacks.rows import ROWS, Row, fill_namespace, hold_victim
from tests.attacks.run import attacking

__all__ = ["AT_ONCE", "KEPT_SEEDS", "MIXED", "Mix", "mixed_row"]

AT_ONCE = 4
VICTIM_TOPICS = 20_000
WIDE_NAMES = 2_000
"""More than from which a route is made in slices, and soon registered."""
LOOK_SECONDS = 0.05
KEPT_SEEDS: tuple[int, ...] = (1,)
"""Mixes that found something once; `--fuzz` without a seed takes them first, then draws others."""

MIXED = tuple(key for key, row in ROWS.items() if row.can_share)
"""Here all share one server."""


def mixed_row(seconds: float) -> Row:
    """What stands for a mix in the table."""

    def prepare(target: Target, stack: contextlib.ExitStack) -> None:
        hold_victim(VICTIM_TOPICS, target, stack)
        fill_namespace(target, stack)
        start_with_wide_topic(WIDE_NAMES, target, stack)
        map_queues(target, stack)

    return Row(
        "fuzz",
        f"{AT_ONCE} of the attacks at a time, at random, for {seconds:.0f} s",
        ROWS["1"].attack,
        prepare,
        seconds=seconds,
        state_mib=sum(ROWS[key].state_mib for key in MIXED),
    )


class Mix:
    """One mix: the same seed gives the same attacks in the same order."""

    def __init__(self, seed: int, rows: Sequence[str] = MIXED) -> None:
        self.seed = seed
        self._rows = rows
        self.attacks: list[str] = []
        """What was done: seconds since the begin, row, scale."""

    @contextlib.contextmanager
    def __call__(self, target: Target) -> Iterator[Callable[[float], None]]:
        """Attack while the block runs; gives a function that goes on for so many seconds."""
        chance = random.Random(f"{self.seed}{target.salt}")
        with contextlib.ExitStack() as stack:
            running: list[tuple[float, contextlib.ExitStack]] = []
            stack.callback(_end_all, running)
            begin = time.monotonic()

            def play(seconds: float) -> None:
                while (now := time.monotonic()) < begin + seconds:
                    for ended in [each for each in running if each[0] < now]:
                        running.remove(ended)
                        ended[1].close()
                    while len(running) < AT_ONCE:
                        running.append(self._start(chance, target, now - begin))
                    time.sleep(LOOK_SECONDS)

            yield play

    def _start(self, chance: random.Random, target: Target, at: float) -> tuple[float, contextlib.ExitStack]:
        key = chance.choice(self._rows)
        scale = chance.uniform(0.02, 0.4)
        salt = f"{target.salt}{len(self.attacks)}"
        self.attacks.append(f"{at:.1f} s: row {key} x {scale:.2f}")
        own = contextlib.ExitStack()
        own.enter_context(
            attacking(ROWS[key].attack, Target(target.port, target.http_port, target.folder, scale, salt))
        )
        return time.monotonic() + chance.uniform(2.0, 8.0), own


def _end_all(running: list[tuple[float, contextlib.ExitStack]]) -> None:
    for _, each in running:
        each.close()
