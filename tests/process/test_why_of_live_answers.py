"""`why` in the law (docs/decisions/0013), from what a real server answered, at hundreds of instants with kill -9.

After each change the server is asked for the route of each topic. Each answer is compared with the verdict and the
evidence of `why` at its time: after each kill, from what is on the disk then. Without a time, `why` is compared with
the server that runs, and after a kill with its last change.
The night has more: NAMEKEEPER_LIVE_ROUNDS, NAMEKEEPER_LIVE_SEED.
"""

import asyncio
import os
import random
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct, structs

from namekeeper.answers.evidence import Evidence
from namekeeper.answers.explain import explain
from namekeeper.answers.from_journal import JournalFolder
from namekeeper.answers.verdict import Explanation, Verdict
from namekeeper.messages.bodies import decode_topic_route
from namekeeper.model.route import TopicRouteData
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import RemotingCommand, request
from tests.process.running import NameServerProcess
from tests.support.system.processes import eventually as wait_until
from tests.support.system.processes import free_port
from tests.support.system.waiting import eventually
from tests.support.wire.peer import Peer, connect
from tests.unit.app.parts import registration

ROUNDS = int(os.environ.get("NAMEKEEPER_LIVE_ROUNDS", "6"))
SEED = int(os.environ.get("NAMEKEEPER_LIVE_SEED", "1"))
CHANGES = 14
"""Changes in a round; after each, every topic is looked up."""
TOPICS = ("orders", "payments", "parcels", "nobody-has-this")
BROKERS = tuple((name, broker_id) for name in ("b0", "b1") for broker_id in (0, 1))
LAST = ("b2", 0)
"""The broker of the last change of a boot."""
WRITE = 2

ENDS = {
    Verdict.DELETED: {"deleted"},
    Verdict.BROKER_GONE: {"unregistered", "disconnected"},
    Verdict.JUST_STARTED: {"killed"},
    Verdict.NOT_BACK: {"killed"},
    Verdict.UNKNOWN: {"killed"},
}
"""Verdict about a topic without a route -> what it says was done since the topic was last there: one of these."""


class Act(Struct):
    """What was done, and to which topics it can do something."""

    what: str
    topics: Sequence[str]
    told: str = ""
    """What an answer says of it, if it was the cause: the broker that went, or who asked for a deletion."""


class LiveAnswer(Struct):
    """What the server answered about a topic, and when."""

    topic: str
    at: int
    """Wall ms: after the answer, before the next change."""
    boot: int
    route: TopicRouteData | None
    acts: int
    """How many acts there were before."""

    @property
    def rows(self) -> dict[str, tuple[int, int, int]]:
        """Broker name -> read queues, write queues, permission."""
        datas = [] if self.route is None else self.route.queue_datas
        return {each.broker_name: (each.read_queue_nums, each.write_queue_nums, each.perm) for each in datas}

    @property
    def masters(self) -> set[str]:
        datas = [] if self.route is None else self.route.broker_datas
        return {each.broker_name for each in datas if 0 in each.broker_addrs}

    @property
    def can_be_written(self) -> bool:
        """Whether a client has a queue to send to."""
        rows = self.rows.items()
        return any(perm & WRITE and write and name in self.masters for name, (_, write, perm) in rows)


class Driver:
    """Brokers that come and go at one name server after another, one change at a time."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._boot = 0
        self._version = 0
        self._stack = AsyncExitStack()
        self._address = ""
        self._brokers: dict[tuple[str, int], Peer] = {}
        self.answers: list[LiveAnswer] = []
        self.acts: list[Act] = []

    async def starts(self, address: str) -> None:
        """Go on at a server that has just started; what the last change of the boot before left goes."""
        self._boot += 1
        self._address = address
        self._brokers.clear()
        self._asker = await self._stack.enter_async_context(connect(address))
        await self.looks()
        await self._time_passes()
        await self._unregister(LAST)
        await self.looks()

    async def is_killed(self, kill: Callable[[], None]) -> None:
        """The server is killed."""
        await asyncio.to_thread(kill)
        self.acts.append(Act("killed", TOPICS))
        await self._stack.aclose()

    def law(self, folder: str) -> "Law":
        """All answers, and what a journal says now."""
        return Law(folder, self.answers, self.acts)

    async def changes(self) -> None:
        """One change, and a look at what it did."""
        await self._time_passes()
        acts = [
            self._registers,
            self._registers,
            self._unregisters,
            self._disconnects,
            self._wipes,
            self._deletes,
        ]
        await self._chance.choice(acts)()
        await self.looks()

    async def looks(self) -> None:
        """Ask for every topic."""
        for topic in TOPICS:
            answer = await self._ask(request(105, {"topic": topic}, b"", opaque=1))
            assert answer.code in {0, 17}
            route = decode_topic_route(answer.body) if answer.code == 0 else None
            self.answers.append(LiveAnswer(topic, now_ms(), self._boot, route, len(self.acts)))

    async def last_change(self) -> None:
        """A broker registers every topic, and nothing follows; look at that."""
        await self._time_passes()
        await self._register(LAST, TOPICS[:3])
        await self.looks()

    async def _time_passes(self) -> None:
        """The next change has a later time than the last answer."""
        last = max((each.at for each in self.answers), default=0)
        await eventually(lambda: now_ms() > last)

    async def _registers(self) -> None:
        topics = self._chance.sample(TOPICS[:3], self._chance.choice((0, 1, 2, 3)))
        await self._register(self._chance.choice(BROKERS), topics)

    async def _register(self, broker: tuple[str, int], topics: Sequence[str]) -> None:
        self._version += 1
        if broker not in self._brokers:
            self._brokers[broker] = await self._stack.enter_async_context(connect(self._address))
        name, broker_id = broker
        asked = registration(
            tuple(topics),
            version=self._version,
            broker_name=name,
            broker_addr=_addr(broker),
            broker_id=broker_id,
            heartbeat_timeout_ms=86_400_000,
        )
        assert (await self._exchange(self._brokers[broker], asked)).code == 0

    async def _unregisters(self) -> None:
        await self._unregister(self._chance.choice(BROKERS))

    async def _unregister(self, broker: tuple[str, int]) -> None:
        name, broker_id = broker
        fields = {
            "clusterName": "DefaultCluster",
            "brokerAddr": _addr(broker),
            "brokerName": name,
            "brokerId": str(broker_id),
        }
        assert (await self._ask(request(104, fields, b"", opaque=1))).code == 0
        self.acts.append(
            Act("unregistered", TOPICS, f"{name} ({_addr(broker)}) was unregistered by {self._asker_addr}")
        )

    async def _disconnects(self) -> None:
        if not self._brokers:
            return
        broker = self._chance.choice(sorted(self._brokers))
        await self._brokers.pop(broker).close()
        self.acts.append(
            Act("disconnected", TOPICS, f"{broker[0]} ({_addr(broker)}) lost its connection from")
        )
        listed = _addr(broker).encode()
        while listed in (await self._ask(request(106, {}, b"", opaque=1))).body:
            pass  # the server has not seen the end of the connection yet

    async def _wipes(self) -> None:
        name, code = self._chance.choice(BROKERS)[0], self._chance.choice((205, 205, 327))
        await self._ask(request(code, {"brokerName": name}, b"", opaque=1))

    async def _deletes(self) -> None:
        topic = self._chance.choice(TOPICS[:3])
        assert (await self._ask(request(216, {"topic": topic}, b"", opaque=1))).code == 0
        self.acts.append(Act("deleted", [topic], f" by {self._asker_addr}"))

    @property
    def _asker_addr(self) -> str:
        host, port = self._asker.writer.get_extra_info("sockname")
        return f"{host}:{port}"

    async def _ask(self, asked: RemotingCommand) -> RemotingCommand:
        return await self._exchange(self._asker, asked)

    async def _exchange(self, peer: Peer, asked: RemotingCommand) -> RemotingCommand:
        await peer.send(encode_command(asked))
        return await peer.answer()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _addr(broker: tuple[str, int]) -> str:
    return f"10.0.{broker[0][1:]}.{broker[1]}:10911"


class Law:
    """Compares the answers of a server with what its journal says now."""

    def __init__(self, folder: str, answers: Sequence[LiveAnswer], acts: Sequence[Act]) -> None:
        self._evidence = {topic: JournalFolder(folder).evidence(topic, 0) for topic in TOPICS}
        self._answers = answers
        self._acts = acts

    def verdicts(self, begin: int = 0) -> list[Verdict]:
        """Check each answer whose time is known, from one on; the verdicts about these."""
        found = []
        lost: set[int] = set()
        for answer in self._answers[begin:]:
            if self._is_covered(answer):
                assert answer.boot not in lost, ("something after it is not lost", answer)
                found.append(self._check(answer))
            else:
                lost.add(answer.boot)
        return found

    def known(self) -> int:
        """How many answers are of a known time."""
        return sum(self._is_covered(answer) for answer in self._answers)

    def check_last_record(self, answers: Sequence[LiveAnswer]) -> None:
        """At the time of the last record it is as after it; nothing follows this record."""
        for answer in answers:
            last = self._evidence[answer.topic].knows_up_to
            assert last is not None
            self._check(structs.replace(answer, at=last))

    def has(self, answers: Sequence[LiveAnswer]) -> bool:
        """Whether the rows of some answers are those at the end of the journal."""
        ends = {topic: evidence.knows_up_to or 0 for topic, evidence in self._evidence.items()}
        return all(_rows(self._evidence[each.topic], ends[each.topic]) == each.rows for each in answers)

    def _is_covered(self, answer: LiveAnswer) -> bool:
        evidence = self._evidence[answer.topic]
        period = evidence.period_at(answer.at)
        is_written = evidence.knows_up_to is not None and answer.at <= evidence.knows_up_to
        return is_written and period is not None and period.state == "up"

    def _check(self, answer: LiveAnswer) -> Verdict:
        evidence = self._evidence[answer.topic]
        (found,) = explain([evidence], answer.at)
        assert _rows(evidence, answer.at) == answer.rows, (answer, found)
        if answer.route is None:
            assert self._claims_without_route(answer, found), (answer, found)
        else:
            assert _claims_with_route(answer, found.verdict), (answer, found)
            named = "\n".join(fact.text for fact in found.facts)
            assert all(name in named for name in answer.rows), (answer, found)
        return found.verdict

    def _claims_without_route(self, answer: LiveAnswer, found: Explanation) -> bool:
        """Whether it is true of a topic that is not there: what was done, by whom, and to which broker."""
        verdict = found.verdict
        named = "\n".join(fact.text for fact in found.facts)
        for last in self._held_before(answer):
            done = () if verdict is Verdict.NEVER_REGISTERED else self._done(last, answer)
            causes = [act for act in done if act.what in ENDS[verdict] and act.told in named]
            if causes and any(name in named for name in last.rows):
                return True
            if self._is_covered(last):
                return False
            # Its time is not known; still, its record may be there, or only that of the one before.
        return verdict is Verdict.NEVER_REGISTERED

    def _held_before(self, answer: LiveAnswer) -> Iterator[LiveAnswer]:
        """Earlier answers with a route of the topic, the last one first."""
        earlier = bisect_left(self._answers, answer.at, key=lambda each: each.at)
        for each in reversed(self._answers[:earlier]):
            if each.topic == answer.topic and each.route is not None:
                yield each

    def _done(self, last: LiveAnswer, answer: LiveAnswer) -> list[Act]:
        """What was done to a topic between two answers."""
        return [act for act in self._acts[last.acts : answer.acts] if answer.topic in act.topics]


def _rows(evidence: Evidence, at: int) -> dict[str, tuple[int, int, int]]:
    return {
        row.broker_name: (row.read_queue_nums, row.write_queue_nums, row.perm)
        for row in evidence.routes_at(at)
    }


def _claims_with_route(answer: LiveAnswer, verdict: Verdict) -> bool:
    """Whether it is true of a topic that is there."""
    assert answer.route is not None
    claims = {
        Verdict.HAS_ROUTE: answer.can_be_written,
        Verdict.WRITE_PERM_WIPED: any(not perm & WRITE for _, _, perm in answer.rows.values()),
        Verdict.MASTER_GONE: bool(answer.rows.keys() - answer.masters),
        Verdict.NOT_WRITABLE: False,  # every broker here registers topics that can be written to
    }
    return claims[verdict] and (verdict is Verdict.HAS_ROUTE) == answer.can_be_written


def check_when_written(folder: str, driver: Driver) -> None:
    """As soon as the last change is written, `why` without a time says what the server answers, which runs."""
    answers = driver.answers[-len(TOPICS) :]
    wait_until(lambda: driver.law(folder).has(answers), within=20, what="the last change in the journal")
    for answer in answers:
        now = now_ms()
        evidence = JournalFolder(folder).evidence(answer.topic, None)
        (found,) = explain([evidence])
        assert found.at >= now
        assert _rows(evidence, found.at) == answer.rows, (answer, found)
        assert answer.can_be_written == (found.verdict is Verdict.HAS_ROUTE), (answer, found)


async def test_why_says_what_a_live_server_answered_whenever_it_is_killed(tmp_path: Path):
    """In every second round it is killed at once, so that its last records may be lost."""
    port = str(free_port())
    folder = str(tmp_path / "journal" / port)
    driver = Driver(random.Random(SEED))
    written = 0
    for number in range(ROUNDS):
        begin = len(driver.answers)
        with NameServerProcess(tmp_path, listen_port=port) as server:
            await driver.starts(await asyncio.to_thread(lambda: server.started().address))
            for _ in range(CHANGES):
                await driver.changes()
            is_written = number % 2 == 0
            if is_written:
                written += len(driver.answers) - begin
                await driver.last_change()
                await asyncio.to_thread(check_when_written, folder, driver)
            await driver.is_killed(server.kill)
        law = await asyncio.to_thread(driver.law, folder)
        await asyncio.to_thread(law.verdicts, begin)
        assert law.known() >= written, "what was written is known"
        if is_written:
            law.check_last_record(driver.answers[-len(TOPICS) :])
    verdicts = await asyncio.to_thread(law.verdicts)
    assert {Verdict.HAS_ROUTE, Verdict.NEVER_REGISTERED, Verdict.BROKER_GONE} <= {*verdicts}
    assert {*verdicts} & {Verdict.WRITE_PERM_WIPED, Verdict.MASTER_GONE}
