"""The order of requests, within a budget of the observed name server's processor. Times are monotonic ms.

Brokers, topics, KV entries and properties have a period each. The rows of topics are read in a sweep, the
topic that was read longest ago first; topics that a change touched come before it, in every other turn. The
sweep starts once every topic was read.
Each answer is paid for from the budget. Only the request for the brokers is sent without waiting for it,
and is paid for afterwards.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from namekeeper.observe.questions import AskConfig, AskKv, AskMembers, AskRoute, AskTopics, Question

__all__ = ["AT_ONCE", "COSTS", "Cost", "Rates", "RequestSchedule", "Windows", "cost_us"]

AT_ONCE = 16
"""Requests for rows of different topics that are under way together: a few hide the round trip."""
SAVED_MS = 100
"""How much of the budget may be saved up: a name server gets no burst after a quiet time."""
RECHECK = 2
"""A doubted answer has the brokers asked for before it is time, but at most so many times as often."""


class Cost(Struct, frozen=True):
    """The cost of one kind of request."""

    fixed_us: float
    each_us: float
    """Cost of each broker, topic, row or entry in the answer."""


COSTS: Mapping[type, Cost] = {
    AskRoute: Cost(120, 1.7),
    AskMembers: Cost(720, 1),
    AskTopics: Cost(900, 0.22),
    AskKv: Cost(700, 0.26),
    AskConfig: Cost(930, 0),
}
"""Measured by `python -m benchmarks.observe_costs`: about the highest of the measured Java releases, see
docs/reference/observe.md. A budget of response times would include the network."""


class Rates(Struct, frozen=True, kw_only=True):
    """How often an observer asks, and what it may cost."""

    budget: float = 0.01
    """Part of one core of the name server."""
    members_ms: int = 1_000
    topics_ms: int = 2_000
    queues_ms: int = 5_000
    """Shortest time between two requests for the rows of one topic."""
    answer_ms: int = 5_000
    """Time limit of an answer."""
    kv_ms: int = 10_000
    config_ms: int = 60_000
    kv_namespaces: tuple[str, ...] = ("ORDER_TOPIC_CONFIG",)


class Windows(Struct, frozen=True):
    """Longest windows of each kind of change, ms."""

    members_ms: int
    """Window of brokers that come and go, with their topics: the period of 106 and an answer."""
    topics_ms: int
    """Window of new and deleted topics: two periods of 206, as an answer may be doubted, and an answer."""
    queues_ms: int
    """Window of queues and permissions: the sweep, with as many topics as are touched, and an answer."""
    kv_ms: int
    config_ms: int


_SHARES = {AskMembers: 1 / 8, AskTopics: 1 / 8, AskKv: 1 / 16, AskConfig: 1 / 16}
"""Periodic request -> its share of the budget: if it would cost more, its period is longer."""


class RequestSchedule:
    """Chooses the next requests to one name server.

    Args:
        rates: how often to ask.
        is_listed: whether a topic is there; others are not asked for any more.
    """

    def __init__(self, rates: Rates, is_listed: Callable[[str], bool]) -> None:
        self._rates = rates
        self._is_listed = is_listed
        self._periodic: list[Question] = [
            AskMembers(), AskTopics(), *map(AskKv, rates.kv_namespaces), AskConfig()
        ]  # fmt: skip
        self._answered: set[Question] = set()
        self._asked: dict[Question, int] = {}
        """When each periodic request was sent last."""
        self._sizes: dict[type, float] = {}
        """Parts in the last answer of each kind; of routes on average."""
        self._sweep: dict[str, int] = {}
        """Topic -> when its rows were asked for last, oldest first."""
        self._touched: dict[str, None] = {}
        self._is_sweeping = False
        self._is_doubted = False
        self._takes_touched = True
        self._takes_periodic = True
        self._was_members = False
        """Whether the last request was for the brokers: with slow answers they are due again at once."""
        self._balance_us = 0.0
        self._balance_at: int | None = None
        self.requests = 0
        self.spent_us = 0.0

    @property
    def has_answers(self) -> bool:
        """Whether each periodic request was answered once."""
        return self._answered.issuperset(self._periodic)

    def ask_members(self) -> None:
        """Ask for the brokers next."""
        self._asked.pop(AskMembers(), None)

    def drop(self, question: Question) -> None:
        """Do not ask this any more: the name server refuses it."""
        self._periodic.remove(question)

    def touch(self, topics: Iterable[str]) -> None:
        """Ask for the rows of these topics soon."""
        self._touched |= dict.fromkeys(topics)

    def start_sweep(self) -> None:
        """Read topics again from now on: each was read once."""
        self._is_sweeping = True

    def doubt(self) -> None:
        """Ask soon for the brokers, and then for the topics."""
        self._is_doubted = True

    def next(self, now_ms: int) -> tuple[Question, ...] | int:
        """The requests to send together, or how many ms to wait.

        A request for the rows of topics is only sent together with others of its kind.
        """
        self._save_up(now_ms)
        members_ms = self._due_in(AskMembers(), now_ms)
        can_pay = self._balance_us > 0
        lets_others = self._was_members and can_pay and AskMembers() in self._asked
        if members_ms <= 0 and not lets_others:
            return (AskMembers(),)
        if not can_pay:
            broke_ms = int(-self._balance_us / self._us_per_ms) + 1
            return max(1, min(broke_ms, members_ms))
        found = self._others(now_ms)
        if found or members_ms <= 0:
            return found or (AskMembers(),)
        wait_ms = min(self._due_in(question, now_ms) for question in self._periodic)
        if self._is_sweeping and self._sweep:
            wait_ms = min(wait_ms, self._rates.queues_ms - self.oldest_ms(now_ms))
        return max(1, wait_ms)

    def _others(self, now_ms: int) -> tuple[Question, ...]:
        """The next requests but that for the brokers: a periodic one, then topics; answers may be slow."""
        waits = {question: self._due_in(question, now_ms) for question in self._periodic}
        del waits[AskMembers()]
        question = min(waits, key=lambda one: (one in self._asked, waits[one]), default=None)
        if question is not None and waits[question] > 0:
            question = None
        is_first = question is not None and question not in self._asked
        topics = [] if is_first or (question and self._takes_periodic) else self._next_topics(now_ms)
        self._takes_periodic = bool(topics)
        if topics:
            return tuple(map(AskRoute, topics))
        return () if question is None else (question,)

    def sent(self, question: Question, now_ms: int) -> None:
        """Note that a request is sent."""
        self.requests += 1
        self._was_members = isinstance(question, AskMembers)
        if isinstance(question, AskRoute):
            self._touched.pop(question.topic, None)
            self._sweep.pop(question.topic, None)
            self._sweep[question.topic] = now_ms
            return
        self._asked[question] = now_ms
        if isinstance(question, AskTopics):
            self._is_doubted = False

    def answered(self, question: Question, size: int) -> None:
        """Pay for a request that was answered."""
        kind = type(question)
        if isinstance(question, AskRoute):
            average = self._sizes.get(kind, size)
            self._sizes[kind] = average + (size - average) / 50
        else:
            self._answered.add(question)
            self._sizes[kind] = size
        self._pay(cost_us(kind, size))

    def failed(self, question: Question) -> None:
        """Pay for a request without a good answer: the name server may have worked for it."""
        self._pay(self._cost(type(question)))

    def windows(self) -> Windows:
        """The longest windows, with the present numbers of brokers, topics and rows."""
        answer_ms = self._rates.answer_ms
        return Windows(
            members_ms=answer_ms + self._period_ms(AskMembers()),
            topics_ms=answer_ms + RECHECK * self._period_ms(AskTopics()),
            queues_ms=answer_ms + max(self._rates.queues_ms, 2 * self.reading_ms(len(self._sweep))),
            kv_ms=answer_ms + self._period_ms(AskKv("")),
            config_ms=answer_ms + self._period_ms(AskConfig()),
        )

    def reading_ms(self, topics: int) -> int:
        """How long the budget needs for the rows of so many topics."""
        periodic = sum(self._cost(type(one)) / self._period_ms(one) for one in self._periodic)
        for_topics = max(self._us_per_ms - periodic, self._us_per_ms / 8)
        return int(self._cost(AskRoute) * max(1, topics) / for_topics)

    def oldest_ms(self, now_ms: int) -> int:
        """How long ago the rows were asked for that are next in the sweep; 0 before it starts."""
        return now_ms - next(iter(self._sweep.values()), now_ms) if self._is_sweeping else 0

    @property
    def _us_per_ms(self) -> float:
        return self._rates.budget * 1_000

    def _save_up(self, now_ms: int) -> None:
        if self._balance_at is not None:
            self._balance_us += (now_ms - self._balance_at) * self._us_per_ms
        self._balance_at = now_ms
        self._balance_us = min(self._balance_us, SAVED_MS * self._us_per_ms)
        if not self.requests:
            self._balance_us = SAVED_MS * self._us_per_ms

    def _pay(self, us: float) -> None:
        self.spent_us += us
        self._balance_us -= us

    def _cost(self, kind: type[Question]) -> float:
        return cost_us(kind, int(self._sizes.get(kind, 1)))

    def _period_ms(self, question: Question) -> int:
        rates = self._rates
        wanted_ms = {
            AskMembers: rates.members_ms,
            AskTopics: rates.topics_ms,
            AskKv: rates.kv_ms,
            AskConfig: rates.config_ms,
        }[type(question)]
        affordable_ms = self._cost(type(question)) / (self._us_per_ms * _SHARES[type(question)])
        return max(wanted_ms, int(affordable_ms))

    def _due_in(self, question: Question, now_ms: int) -> int:
        asked = self._asked.get(question)
        if asked is None:
            return 0
        period_ms = self._period_ms(question)
        if self._is_doubted and isinstance(question, AskMembers | AskTopics):
            period_ms //= RECHECK
        return asked + period_ms - now_ms

    def _next_topics(self, now_ms: int) -> list[str]:
        """Topics that are touched, and in every other turn those that were asked for longest ago."""
        due_before = now_ms - self._rates.queues_ms
        oldest = self._first(self._sweep) if self._is_sweeping else ()
        due = [topic for topic in oldest if self._sweep[topic] <= due_before]
        touched = self._first(self._touched)
        self._takes_touched = not self._takes_touched
        return (touched or due) if self._takes_touched else (due or touched)

    def _first(self, topics: dict[str, Any]) -> list[str]:
        """The first topics that are there; those before them that are not are removed."""
        found: list[str] = []
        gone: list[str] = []
        for topic in topics:
            (found if self._is_listed(topic) else gone).append(topic)
            if len(found) == AT_ONCE:
                break
        for topic in gone:
            del topics[topic]
        return found


def cost_us(kind: type[Question], size: int) -> float:
    """The cost of a kind of request whose answer has that many parts."""
    cost = COSTS[kind]
    return cost.fixed_us + cost.each_us * size
