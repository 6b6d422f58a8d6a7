"""A fleet of three name servers, and changes of it that are deviations, each with its text."""

from collections.abc import Callable, Sequence

from namekeeper.expected.deviations import Deviations, deviations
from namekeeper.expected.state import ExpectedState, learn
from namekeeper.history.history import History
from tests.differential.bodies import TopicConfig, registration
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import align_ends

__all__ = ["MASTER_A", "MASTER_B", "SEEDS", "SLAVE_A", "Seed", "check", "fleet", "learned", "reregisters"]

MASTER_A, SLAVE_A, MASTER_B = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"
SETTLED_MS = 200_000

Seed = tuple[Callable[[Sequence[Story]], object], list[str]]


def fleet(count: int = 3) -> list[Story]:
    """Name servers with two broker names, one of which has a slave."""
    stories = [Story(f"ns-{number}") for number in range(1, count + 1)]
    for story in stories:
        story.registers("broker-a", MASTER_A, ("orders", "SELF_TEST_TOPIC", "%RETRY%group"))
        story.registers("broker-a", SLAVE_A, ("orders", "SELF_TEST_TOPIC", "%RETRY%group"), broker_id=1)
        story.registers("broker-b", MASTER_B, ("orders", "payments", "c_REPLY_TOPIC", "broker-b"))
        story.ordered("payments", "broker-b:4")
    align_ends(stories, SETTLED_MS)
    return stories


def histories(stories: Sequence[Story]) -> list[History]:
    return [story.history() for story in stories]


def learned(stories: Sequence[Story]) -> ExpectedState:
    return learn(histories(stories)).state


def check(
    expected: ExpectedState, stories: Sequence[Story], after_ms: int = SETTLED_MS, **more: int
) -> Deviations:
    """What deviates some time after the last change."""
    end = align_ends(stories, after_ms)
    return deviations(expected, histories(stories), {each.journal.namesrv: end for each in stories}, **more)


def reregisters(story: Story, addr: str, topic: str = "", config: TopicConfig | None = None) -> None:
    """A broker registers again, with another configuration of a topic."""
    story.later(1_000)
    broker = story.brokers[addr]
    if config is not None:
        broker.topics[topic] = config
    broker.counter += 1
    story.journal.server.ask(registration(broker), story.connections[addr], story.journal.up_ms)


def _everywhere(step: Callable[[Story], object]) -> Callable[[Sequence[Story]], object]:
    return lambda stories: [step(story) for story in stories]


def _at_second(step: Callable[[Story], object]) -> Callable[[Sequence[Story]], object]:
    return lambda stories: step(stories[1])


def _breaks(*addrs: str) -> Callable[[Story], object]:
    return lambda story: [story.connection_breaks(addr) for addr in addrs]


def _queues(addr: str, topic: str, read: int, write: int, perm: int = 6) -> Callable[[Story], object]:
    return lambda story: reregisters(story, addr, topic, TopicConfig(read=read, write=write, perm=perm))


def _moves(addr: str, cluster: str) -> Callable[[Story], object]:
    """A broker goes, and comes back in another cluster."""

    def step(story: Story) -> None:
        story.connection_breaks(addr)
        story.brokers[addr].cluster = cluster
        reregisters(story, addr)

    return step


def _other_id(story: Story) -> None:
    """The slave goes, and comes back with another id."""
    story.connection_breaks(SLAVE_A)
    story.brokers[SLAVE_A].broker_id = 2
    reregisters(story, SLAVE_A)


def _comes_back_without(addr: str, topic: str) -> Callable[[Story], object]:
    """A broker goes, and comes back without one of its topics."""

    def step(story: Story) -> None:
        story.connection_breaks(addr)
        story.later(1_000)
        del story.brokers[addr].topics[topic]
        reregisters(story, addr)

    return step


AT_SECOND = ", at ns-2 (1 of 3 name servers)"
NEW = "10.0.0.9:10911"
HOSTILE = '\x1b[31m<b>*x*</b>\n"];import os#'

SEEDS: dict[str, Seed] = {
    "a slave is missing": (
        _everywhere(_breaks(SLAVE_A)), ["broker broker-a lacks a member: id 0 instead of 0, 1"]),
    "a master is missing": (
        _everywhere(_breaks(MASTER_A)), ["broker broker-a lacks a member: id 1 instead of 0, 1"]),
    "the second name server misses a slave": (
        _at_second(_breaks(SLAVE_A)), [f"broker broker-a lacks a member: id 0 instead of 0, 1{AT_SECOND}"]),
    "a broker name is missing": (
        _everywhere(_breaks(MASTER_B)), ["broker broker-b is missing: expected with id 0"]),
    "the second name server misses a broker name": (
        _at_second(_breaks(MASTER_A, SLAVE_A)), [f"broker broker-a is missing: expected with id 0, 1{AT_SECOND}"]),
    "every broker is missing": (
        _everywhere(_breaks(MASTER_A, SLAVE_A, MASTER_B)),
        ["broker broker-a is missing: expected with id 0, 1", "broker broker-b is missing: expected with id 0"]),
    "a member that nobody expects": (
        _everywhere(lambda story: story.registers("broker-b", NEW, ("orders", "payments"), broker_id=3)),
        ["broker broker-b has an unexpected member: id 0, 3 instead of 0"]),
    "the id of a member is another": (
        _everywhere(_other_id), ["broker broker-a has other members: id 0, 2 instead of 0, 1"]),
    "a broker is in the wrong cluster": (
        _everywhere(_moves(MASTER_B, "d")), ["broker broker-b is in cluster d instead of c"]),
    "a broker that nobody expects": (
        _everywhere(lambda story: story.registers("broker-x", NEW, ("orders",))),
        ["broker broker-x is not expected: it has id 0"]),
    "a broker that nobody expects, at the second name server": (
        _at_second(lambda story: story.registers("broker-x", NEW, ("orders",))),
        [f"broker broker-x is not expected: it has id 0{AT_SECOND}"]),
    "a broker of a cluster that nobody expects": (
        _everywhere(lambda story: story.registers("broker-y", NEW, ("secret",), cluster="z")),
        ["broker broker-y is not expected: it has id 0"]),
    "a topic is gone": (
        _everywhere(lambda story: story.deleted("orders")),
        ["topic orders on broker-a, broker-b is missing: expected 4/4 RW-"]),
    "a topic is gone at the second name server": (
        _at_second(lambda story: story.deleted("payments")),
        [f"topic payments on broker-b is missing: expected 4/4 RW-{AT_SECOND}"]),
    "a topic is gone on one broker": (
        _everywhere(_comes_back_without(MASTER_B, "payments")),
        ["topic payments on broker-b is missing: expected 4/4 RW-"]),
    "fewer queues": (
        _everywhere(_queues(MASTER_A, "orders", 2, 2)), ["topic orders on broker-a has 2/2 RW- instead of 4/4 RW-"]),
    "more queues to read, at the second name server": (
        _at_second(_queues(MASTER_B, "payments", 8, 4)),
        [f"topic payments on broker-b has 8/4 RW- instead of 4/4 RW-{AT_SECOND}"]),
    "another permission": (
        _everywhere(_queues(MASTER_A, "orders", 4, 4, perm=4)),
        ["topic orders on broker-a has the permission 4/4 R-- instead of 4/4 RW-"]),
    "a wiped permission, at the second name server": (
        _at_second(lambda story: story.wiped("broker-b")),
        [f"topic {topic} on broker-b has the permission 4/4 R-- instead of 4/4 RW-{AT_SECOND}"
         for topic in ("more", "orders", "other", "payments")]),
    "a topic that nobody expects": (
        _everywhere(_queues(MASTER_A, "new", 4, 4)), ["topic new on broker-a is not expected: 4/4 RW-"]),
    "a topic on one more broker": (
        _everywhere(_queues(MASTER_A, "payments", 4, 4)), ["topic payments on broker-a is not expected: 4/4 RW-"]),
    "another order configuration": (
        _everywhere(lambda story: story.ordered("payments", "broker-b:8")),
        ["order configuration of topic payments is broker-b:8 instead of broker-b:4"]),
    "the order configuration is gone, at the second name server": (
        _at_second(lambda story: story.ordered("payments", None)),
        [f"order configuration of topic payments is none instead of broker-b:4{AT_SECOND}"]),
    "an order configuration that nobody expects": (
        _everywhere(lambda story: story.ordered("orders", "broker-a:4")),
        ["order configuration of topic orders is broker-a:4 instead of none"]),
    "a hostile name of a topic": (
        _everywhere(_queues(MASTER_A, HOSTILE, 1, 1)), [f"topic {HOSTILE} on broker-a is not expected: 1/1 RW-"]),
}  # fmt: skip
"""Name -> what happens, and the texts of all deviations then."""
