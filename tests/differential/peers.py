"""One server under comparison: its connections, its oracle, and the ways to wait for what it does later.

Java 5.x answers a 104 before it acts, and hears of a closed connection on another thread. What must be seen
then is taken from the oracle, so it is polled for.
"""

import copy
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.differential.maker import expire
from tests.differential.steps import CONTROL, SHARED, Ask, Expire, Restart, Step, World, questions
from tests.differential.wire import Connection
from tests.support.java_model.server import JavaModel
from tests.support.java_model.tables import RESTORED, Rules
from tests.support.java_model.values import Answer, Request

__all__ = ["DifferenceError", "Peer"]

WITHIN_SECONDS = 60.0
SENTINEL = {"clusterName": "sentinel", "brokerName": "sentinel", "brokerAddr": "sentinel:1", "brokerId": "0"}
_EMPTY = b'{"counter":1,"stateVersion":0,"timestamp":1}'
Keys = set[tuple[str, str]]


class DifferenceError(AssertionError):
    """A server did not do what its oracle says."""


class Peer:
    """A running name server, and the model that says what it should do."""

    def __init__(
        self, name: str, address: str, rules: Rules, release: str, restart: Callable[[bool], None], *,
        shared: bool, report: Callable[[], str],
    ) -> None:  # fmt: skip
        self.name = name
        self.report = report
        """Gives the end of its output and of its logs."""
        self.address = address
        self.rules = rules
        self.is_four = release in SHARED
        self.shared = shared
        self._restart_process = restart
        self.control = Connection(address, is_four=self.is_four)
        self.connections: dict[int, Connection] = {}
        self.model = JavaModel(rules)
        self.world: World | None = None
        self.now_ms = 0
        self.sent = 0

    def begin(self, world: World) -> None:
        """Start a sequence with no broker; the KV configuration stays from one to the next."""
        self.world = world
        self.model = JavaModel(self.rules)
        self.now_ms = 0
        for request in (q for q in questions(world, shared=True) if q.code == 219):
            answer = self.control.ask(request)
            if answer.code == 0:
                self.model.kv[request.fields["namespace"]] = dict(answer.body["table"])

    def end(self) -> None:
        """Remove what the sequence left, so that the server does not fill up."""
        tables = self.model.tables
        members = [(n, g.cluster, a, i) for n, g in tables.groups.items() for i, a in g.addrs.items()]
        members += [
            (entry.name, cluster, addr, entry.broker_id) for (cluster, addr), entry in tables.live.items()
        ]
        members += [
            (name, group.cluster, "nobody", 0) for name, group in tables.groups.items() if not group.addrs
        ]
        for name, cluster, addr, broker_id in members:
            fields = {
                "brokerName": name,
                "clusterName": cluster,
                "brokerAddr": addr,
                "brokerId": str(broker_id),
            }
            self.control.ask(Request(104, fields))
        for namespace, table in self.model.kv.items():
            for key in table:
                self.control.ask(Request(102, {"namespace": namespace, "key": key}))
        self.close_connections()
        self._pass_sentinel()

    def close_connections(self) -> None:
        """Close the connections of the steps."""
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()

    def close(self) -> None:
        """Close everything."""
        self.close_connections()
        self.control.close()

    def take_normalised(self) -> Counter[str]:
        """Return how often each normaliser did something since it was asked last."""
        total: Counter[str] = Counter()
        for connection in (self.control, *self.connections.values()):
            total += connection.normalised
            connection.normalised = Counter()
        return total

    def send(self, step: Step) -> None:
        """Begin a step: put its request on the wire."""
        if isinstance(step, Ask | Expire):
            connection = self._connection(step.conn)
            connection.send([step.request])
            if step.request.one_way:
                connection.send([Request(219, {"namespace": "barrier"})])
            self.sent += 1

    def finish(self, step: Step) -> tuple[Answer | None, Answer | None]:
        """Wait for what a step does; return the answer and what the model answers."""
        self.now_ms += 1
        answer = self._answer(step)
        if isinstance(step, Ask):
            return answer, self._ask_and_settle(step)
        if isinstance(step, Expire):
            expected = self.model.ask(step.request, step.conn, self.now_ms)
            self._await_expiry(step)
            return answer, expected
        if isinstance(step, Restart):
            self._restart(step)
        else:
            self._close(step.conn)
        return None, None

    def observe(self) -> list[tuple[Request, Answer, Answer | None]]:
        """Ask for everything that can be seen of the state; return it with what the model says."""
        assert self.world is not None
        asked = questions(self.world, shared=self.shared)
        self.control.send(asked)
        answers = self.control.receive(asked)
        self.sent += len(asked)
        return [
            (request, self._within(request, answer), self.model.ask(request, CONTROL, self.now_ms))
            for request, answer in zip(asked, answers, strict=True)
        ]

    def _connection(self, conn: int) -> Connection:
        if conn not in self.connections:
            self.connections[conn] = Connection(self.address, is_four=self.is_four)
        return self.connections[conn]

    def _answer(self, step: Step) -> Answer | None:
        if not isinstance(step, Ask | Expire):
            return None
        if step.request.one_way:
            self._connection(step.conn).receive([Request(219)])
            return None
        return self._within(step.request, self._connection(step.conn).receive([step.request])[0])

    def _within(self, request: Request, answer: Answer) -> Answer:
        """Leave out what other sequences left in lists and tables."""
        assert self.world is not None
        owns = self.world.owns
        body = answer.body
        if isinstance(body, dict) and request.code == 106:
            body = {
                "brokerAddrTable": {n: group for n, group in body["brokerAddrTable"].items() if owns(n)},
                "clusterAddrTable": {c: names for c, names in body["clusterAddrTable"].items() if owns(c)},
            }
        elif isinstance(body, dict) and "topicList" in body:
            body["topicList"] = [topic for topic in body["topicList"] if owns(topic) or not topic]
        return Answer(answer.code, answer.remark, answer.fields, body)

    # waiting

    def _facts(self, names: set[str], keys: Keys) -> list[Request]:
        """Return requests that show some brokers, the last of them under the lock that changes are made under."""
        if self.shared:
            return [Request(106, version=373), Request(206)]
        versions = [
            Request(322, {"clusterName": c, "brokerAddr": a, "brokerName": "any", "brokerId": "0"}, _EMPTY)
            for c, a in sorted(keys)
        ]
        groups = [
            Request(901, {"clusterName": "any", "brokerName": name}, version=373) for name in sorted(names)
        ]
        return [*versions, Request(106, version=373), *groups]

    def _facts_of(self, request: Request) -> list[Request]:
        key = (request.fields.get("clusterName", ""), request.fields.get("brokerAddr", ""))
        live = self.model.tables.live.get(key)
        return self._facts({request.fields.get("brokerName", "")} | ({live.name} if live else set()), {key})

    def _seen(self, facts: Sequence[Request]) -> list[Answer]:
        self.control.send(facts)
        return [self._within(*pair) for pair in zip(facts, self.control.receive(facts), strict=True)]

    def _await(self, outcomes: Sequence[list[Answer]], facts: Sequence[Request]) -> int:
        """Poll until the facts are one of some outcomes; return which."""
        deadline = time.monotonic() + WITHIN_SECONDS
        while (seen := self._seen(facts)) not in outcomes:
            if time.monotonic() > deadline:
                raise DifferenceError(f"{self.name} never came to {outcomes} but stays at {seen}")
            time.sleep(0.0005)
        return [outcome == seen for outcome in outcomes].index(True)

    def _pass_sentinel(self) -> None:
        """Wait until every unregister request that came before has been applied: they queue up (protocol.md 4.5)."""
        if self.shared:
            return
        self.model.tables.end_orphans()
        self.control.ask(Request(103, {**SENTINEL, "haServerAddr": "sentinel:2"}))
        self.control.ask(Request(104, SENTINEL))
        deadline = time.monotonic() + WITHIN_SECONDS
        while self.control.ask(Request(901, SENTINEL)).body["brokerMemberGroup"]["brokerAddrs"]:
            if time.monotonic() > deadline:
                raise DifferenceError(f"{self.name} does not apply an unregister")

    def _ask_and_settle(self, step: Ask) -> Answer | None:
        """Have the model answer; after a 104, wait until the server shows what the model says."""
        if step.request.code != 104 or self.shared:
            return self.model.ask(step.request, step.conn, self.now_ms)
        facts = self._facts_of(step.request)
        before = _expected(self.model, facts)
        expected = self.model.ask(step.request, step.conn, self.now_ms)
        after = _expected(self.model, facts)
        if after == before:
            self._pass_sentinel()
        self._await([after], facts)
        return expected

    def _close(self, conn: int) -> None:
        tables = self.model.tables
        choices = tables.closings(conn)
        keys = {key for key, _ in choices}
        facts = self._facts(
            {name for _, name in choices if name} | {tables.live[key].name for key in keys}, keys
        )
        if conn in self.connections:
            self.connections.pop(conn).close()
        if self.rules.close_ends_all or len(choices) <= 1:
            tables.close(conn)
            if choices:
                self._await([_expected(self.model, facts)], facts)
            return
        outcomes = [copy.deepcopy(self.model) for _ in choices]
        for outcome, choice in zip(outcomes, choices, strict=True):
            outcome.tables.close(conn, choice)
        self.model = outcomes[self._await([_expected(outcome, facts) for outcome in outcomes], facts)]

    def _restart(self, step: Restart) -> None:
        self._restart_process(step.restore_routes)
        self.close()
        self.control = Connection(self.address, is_four=self.is_four)
        self.model.tables.restart(restore_routes=step.restore_routes)

    def _await_expiry(self, step: Expire) -> None:
        """Poll what does not refresh; the server closes the connection then."""
        facts = self._facts_of(step.request)
        expire(self.model, step, self.now_ms)
        quiet = [fact for fact in facts if fact.code != 322]
        self._await([_expected(self.model, quiet)], quiet)
        self._await([_expected(self.model, facts)], facts)
        self.connections.pop(step.conn).close()


def _expected(model: JavaModel, facts: Sequence[Request]) -> list[Answer]:
    """Ask a model without leaving a trace in it."""
    return [_asked_aside(model, request) for request in facts]


def _asked_aside(model: JavaModel, request: Request) -> Answer:
    if request.code != 322:
        answer = model.ask(request)
        assert answer is not None
        return answer
    live = model.tables.live.get((request.fields["clusterName"], request.fields["brokerAddr"]))
    is_known = live is not None and live.conn != RESTORED
    changed = {
        "changed": str(
            live is None or not is_known or live.version.counter != 1 or live.version.timestamp != 1
        ).lower()
    }
    return Answer(0, None, changed, None if live is None else live.version.shown())
