"""Runs: many sequences against pairs of servers, the examples of the listed differences, shrinking."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.differential.differences import DIFFERENCES
from tests.differential.generator import generate
from tests.differential.peers import DifferenceError, Peer
from tests.differential.play import RunCounts, play
from tests.differential.servers import OURS, start
from tests.differential.shared import generate_shared
from tests.differential.steps import SHARED, Step, World

__all__ = ["Failure", "Plan", "pair", "run", "show_differences", "shrink"]

LENGTH = 250
SHRINK_TRIALS = 150


@dataclass(frozen=True, slots=True)
class Plan:
    """One pair of servers and how much of what to send to it."""

    releases: tuple[str, ...]
    requests: int
    seed: str
    length: int = LENGTH
    first: int = 0

    @property
    def shared(self) -> bool:
        """Whether only what 4.x and 5.x do alike is sent."""
        return bool(SHARED & set(self.releases))

    def steps(self, index: int, tag: str) -> list[Step]:
        """Return a sequence; the same but for the names when only the tag differs."""
        make = generate_shared if self.shared else generate
        return make(f"{self.seed}/{index}", tag, self.length)


@dataclass(frozen=True, slots=True)
class Failure:
    """A difference that is not listed, and the number of the sequence that showed it."""

    plan: Plan
    index: int
    text: str


@contextlib.contextmanager
def pair(releases: Sequence[str]) -> Iterator[list[Peer]]:
    """Start servers."""
    with contextlib.ExitStack() as opened:
        shared = bool(SHARED & set(releases))
        yield [opened.enter_context(start(release, shared=shared)) for release in releases]


def run(plan: Plan) -> tuple[RunCounts, Failure | None]:
    """Play sequences until the plan's number of requests was sent, or one fails."""
    counts = RunCounts()
    with pair(plan.releases) as peers:
        index = plan.first
        while counts.requests < plan.requests:
            world = World.of(f"~{index}~")
            try:
                play(peers, world, plan.steps(index, world.tag), counts)
            except DifferenceError as difference:
                reports = "\n".join(peer.report() for peer in peers)
                return counts, Failure(plan, index, f"{difference}\n{reports}")
            index += 1
    return counts, None


def show_differences(release: str) -> list[str]:
    """Play the example of each listed difference against Java and ours; return those that do not show."""
    missing = []
    with pair((release, OURS)) as peers:
        for index, (name, difference) in enumerate(DIFFERENCES.items()):
            world, counts = World.of(f"~x{index}~"), RunCounts()
            play(peers, world, difference.example(world), counts)
            if not counts.answers[name]:
                missing.append(name)
    return missing


def shrink(failed: Failure, say: Callable[[str], None]) -> list[Step]:
    """Return a part of the failing sequence that still fails, by leaving out ever smaller pieces of it."""
    trials = 0

    def fails(kept: list[int]) -> bool:
        nonlocal trials
        trials += 1
        with pair(failed.plan.releases) as peers:
            return _failing_at(peers, failed, kept, f"~{failed.index}.{trials}~") is not None

    with pair(failed.plan.releases) as peers:
        last = _failing_at(peers, failed, None, f"~{failed.index}.0~")
    if last is None:
        say("it does not fail again")
        return []
    kept = list(range(last))
    size = len(kept) // 2
    while size and trials < SHRINK_TRIALS:
        for start_at in range(0, len(kept), size):
            without = kept[:start_at] + kept[start_at + size :]
            if trials < SHRINK_TRIALS and without and fails(without):
                kept = without
                say(f"{len(kept)} steps still fail")
                break
        else:
            size //= 2
    steps = failed.plan.steps(failed.index, f"~{failed.index}~")
    return [steps[number] for number in kept]


def _failing_at(peers: Sequence[Peer], failed: Failure, kept: list[int] | None, tag: str) -> int | None:
    """Return after how many steps the sequence, or a part of it, fails."""
    steps = failed.plan.steps(failed.index, tag)
    chosen = steps if kept is None else [steps[number] for number in kept]
    counts = RunCounts()
    try:
        play(peers, World.of(tag), chosen, counts, observe_every=1)
    except DifferenceError:
        return counts.steps_taken
    return None
