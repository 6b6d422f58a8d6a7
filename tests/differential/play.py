"""One sequence against several servers at once: every answer and, at intervals, everything that can be seen."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise

from tests.differential.differences import ANSWERS_ONLY, explains, normaliser_of
from tests.differential.peers import DifferenceError, Peer
from tests.differential.steps import Ask, Expire, Step, World
from tests.support.java_model.tables import JavaTables, Rules
from tests.support.java_model.values import Answer, Request

__all__ = ["OBSERVE_EVERY", "RunCounts", "play"]

OBSERVE_EVERY = 25

Compared = tuple[Answer | None, Answer | None]
"""What a server answered, and what its model says."""


@dataclass(slots=True)
class RunCounts:
    """What was compared, and what differed as it may."""

    requests: int = 0
    questions: int = 0
    steps_taken: int = 0
    on_equal_tables: int = 0
    """Requests after which no listed difference was between the servers' tables."""
    labels: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    """Steps and branches of protocol.md 4 that Java's model took."""
    answers: Counter[str] = field(default_factory=Counter)
    """Listed difference -> answers that differed while it was between the servers."""
    effects: Counter[str] = field(default_factory=Counter)
    """Listed difference -> times that its rule decided otherwise than Java."""
    normalised: Counter[str] = field(default_factory=Counter)
    """Normaliser -> answers that are equal with it only."""

    def add(self, other: "RunCounts") -> None:
        """Add what another run compared."""
        for member in fields(self):
            setattr(self, member.name, getattr(self, member.name) + getattr(other, member.name))


def play(
    peers: Sequence[Peer],
    world: World,
    steps: Sequence[Step],
    counts: RunCounts,
    *,
    observe_every: int = OBSERVE_EVERY,
) -> None:
    """Play a sequence; raise DifferenceError at the first thing neither equal nor a listed difference."""
    game = _Game(peers, counts)
    for peer in peers:
        peer.begin(world)
    try:
        for number, step in enumerate(steps, 1):
            _blame(number, step, partial(game.play, step))
            if number % observe_every == 0 or number == len(steps):
                _blame(number, step, game.observe)
    finally:
        game.count()
    for peer in peers:
        peer.end()


def _blame(number: int, step: Step, act: Callable[[], None]) -> None:
    try:
        act()
    except (ConnectionError, TimeoutError) as error:
        raise DifferenceError(f"at step {number}, {step.label}: {error!r}") from None
    except DifferenceError as difference:
        raise DifferenceError(f"at step {number}, {step}:\n{difference}") from None


class _Game:
    def __init__(self, peers: Sequence[Peer], counts: RunCounts) -> None:
        self.peers = peers
        self.counts = counts
        self.between: set[str] = set()
        """Listed differences that may show in the tables now."""

    def play(self, step: Step) -> None:
        self.counts.labels[step.label] += 1
        self.counts.steps_taken += 1
        self.counts.requests += isinstance(step, Ask | Expire)
        before = [peer.model.tables.differed.copy() for peer in self.peers]
        for peer in self.peers:
            peer.send(step)
        answers = [peer.finish(step) for peer in self.peers]
        fresh = {
            name
            for peer, was in zip(self.peers, before, strict=True)
            for name in peer.model.tables.differed - was
        }
        self._compare(step.request if isinstance(step, Ask | Expire) else Request(0), answers, fresh)
        if all(_same(one.model.tables, two.model.tables) for one, two in pairwise(self.peers)):
            self.between.clear()
            self.counts.on_equal_tables += isinstance(step, Ask | Expire)
        else:
            self.between |= fresh - ANSWERS_ONLY

    def observe(self) -> None:
        seen = [peer.observe() for peer in self.peers]
        for answers in zip(*seen, strict=True):
            request = answers[0][0]
            self.counts.questions += 1
            try:
                self._compare(request, [(answer, expected) for _, answer, expected in answers], ANSWERS_ONLY)
            except DifferenceError as difference:
                raise DifferenceError(f"seen by {request.code} {request.fields}:\n{difference}") from None

    def count(self) -> None:
        for peer in self.peers:
            self.counts.normalised += peer.take_normalised()
            if peer.rules == Rules():
                self.counts.steps += peer.model.count
            self.counts.effects += peer.model.tables.differed

    def _compare(
        self, request: Request, answers: Sequence[Compared], fresh: set[str] | frozenset[str]
    ) -> None:
        for peer, (answer, expected) in zip(self.peers, answers, strict=True):
            if answer != expected:
                raise DifferenceError(f"{peer.name} answers  {answer}\nthe model says {expected}")
        for (one, one_expected), (two, two_expected) in pairwise(answers):
            if one == two or one is None or two is None:
                continue
            if one_expected == two_expected:
                self.counts.normalised[normaliser_of(request, one)] += 1
                continue
            names = [name for name in self.between | fresh if explains(name, request, one, two)]
            if not names:
                raise DifferenceError(f"no listed difference explains {request}\n{one}\n{two}")
            self.counts.answers.update(names)


def _same(one: JavaTables, two: JavaTables) -> bool:
    tables = ("topics", "groups", "clusters", "filters", "mappings")
    if any(getattr(one, table) != getattr(two, table) for table in tables):
        return False
    live_entries = [
        {
            key: (e.name, e.broker_id, e.version, e.ha, e.timeout_ms, e.conn, e.full)
            for key, e in tables.live.items()
        }
        for tables in (one, two)
    ]
    return live_entries[0] == live_entries[1]
