"""With access rules a socket is lent only if its peer may look up all there is, and comes back with new rules."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.access.names import Names
from namekeeper.access.peer import Peer as AccessPeer
from namekeeper.access.peer import certificate_names
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules import AccessCase, explain
from namekeeper.access.rules_file import parse_access_file
from namekeeper.access.signature import sign
from namekeeper.app.access import AccessControl
from namekeeper.common.networks import parse_ip
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.front import Front
from namekeeper.remoting.lending import MIN_LOOKUP_READS, LendingConnection
from namekeeper.wire.codec import encode_command
from tests.support.system.waiting import eventually
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.app.test_access_law import CERTIFICATE, HOSTS, KEYS, RULES, USER
from tests.unit.remoting.fake_front import FakeNative
from tests.unit.remoting.joined import Joined

BY_NETWORK = '[[rule]]\nname = "office"\nrequests = ["read"]\nnetworks = ["192.0.2.0/24"]\n'
BY_TOPIC = '[[rule]]\nname = "team"\nrequests = [105]\ntopics = ["T1"]\n'
BY_USER = '[[rule]]\nname = "ops"\nrequests = [105]\nusers = ["ops"]\n'
REFUSED_BEFORE = (
    '[[rule]]\nname = "not T2"\neffect = "refuse"\nrequests = [105]\ntopics = ["T2"]\n' + BY_NETWORK
)
KNOWN = frame(105, topic="T1")
SIGNED = frame(105, **sign({"topic": "T1"}, b"", access_key="ops", secret_key="k"))
TOPICS = ("T1", "T2")
ENOUGH = MIN_LOOKUP_READS
"""Reads after which a socket is lent."""


def policy(rules: str) -> AccessPolicy:
    file = parse_access_file(f'mode = "enforce"\nkeys = "keys.toml"\n{rules}', source="access.toml")
    return AccessPolicy(file.rules, {"ops": ("k",)})


class Lending(Joined):
    """A connection of a server that has a front and rules, and knows one broker."""

    def __init__(self, folder, policy: AccessPolicy) -> None:
        self.parts = Parts(folder)
        state = self.parts.state
        self.control = AccessControl(
            SimpleNamespace(policy=policy, trouble=""), self.parts.requests, state,
            journaling=self.parts.effects.journaling, lookup_cache=state.lookup_cache,
        )  # fmt: skip
        self.parts.connect().deliver(encode_command(registration()))
        self.parts.run_turns()
        self.native = FakeNative()
        self.front = Front(self.native)
        self.front.start(lambda: 1)
        state.lookup_cache.topic_answers.use(self.front.store)
        super().__init__(self.control, lookup_cache=state.lookup_cache, is_cache_open=False)

    def make(self, context: ConnectionContext) -> LendingConnection:
        return LendingConnection(self.channel, context, self.front)

    def ask(self, look_up: bytes = KNOWN, reads: int = ENOUGH) -> None:
        for _ in range(reads):
            self.deliver(look_up)

    @property
    def codes(self) -> list[int]:
        return [answer.code for answer in self.answers]


@pytest.fixture
async def lending(tmp_path):
    """A function that makes one; it needs a running loop."""
    made = []

    def make(rules: str) -> Lending:
        made.append(Lending(tmp_path, policy(rules)))
        return made[-1]

    yield make
    for each in made:
        each.front.close()


async def test_the_socket_of_a_peer_whose_network_decides_is_lent(lending):
    joined = lending(BY_NETWORK)
    joined.ask(reads=ENOUGH - 1)
    assert not joined.connection.is_lent
    joined.ask(reads=1)
    assert joined.connection.is_lent
    assert set(joined.codes) == {0}


@pytest.mark.parametrize(
    ("rules", "look_up"), [(BY_TOPIC, KNOWN), (BY_USER, SIGNED), (REFUSED_BEFORE, KNOWN)], ids=["topic", "user", "before"]
)  # fmt: skip
async def test_a_socket_is_not_lent_where_topic_or_user_decide(lending, rules, look_up):
    """The front knows what every connection learned, and no rules."""
    joined = lending(rules)
    joined.ask(look_up, reads=20)
    assert joined.parts.state.lookup_cache.found == 18
    assert joined.native.lent == {}
    assert set(joined.codes) == {0}


async def test_a_peer_that_was_not_judged_yet_gets_nothing_that_is_known(lending):
    joined = lending(BY_NETWORK)
    joined.ask()
    stranger = Joined(context=joined.context)
    stranger.channel.remote_addr = "198.51.100.1:5"
    stranger.deliver(KNOWN)
    assert [answer.code for answer in stranger.answers] == [16]


async def test_a_lent_socket_comes_back_when_other_rules_hold(lending):
    joined = lending(BY_NETWORK)
    joined.ask()
    joined.control.replace(policy(""), [joined.connection])
    assert (joined.native.lent, joined.native.learned) == ({}, {})
    await eventually(lambda: joined.transport.is_reading_now)
    before = len(joined.codes)
    joined.ask(reads=2)
    assert joined.codes[before:] == [16, 16]


async def test_what_the_front_had_read_is_judged_by_the_new_rules(lending):
    joined = lending(BY_NETWORK)
    joined.ask()
    joined.native.give_back(next(iter(joined.native.lent)), KNOWN, bytes_in=len(KNOWN))
    joined.control.replace(policy(""), [joined.connection])
    await eventually(lambda: joined.codes[-1] == 16)


async def test_a_connection_that_closes_before_it_goes_on_is_closed(lending):
    joined = lending(BY_NETWORK)
    joined.ask()
    joined.control.replace(policy(""), [joined.connection])
    joined.connection.close()
    await eventually(lambda: joined.closed)
    assert joined.transport.is_closed
    assert len(joined.front) == 0


ABOUT_LOOK_UPS = RULES.map(
    lambda rules: structs.replace(
        rules, rules=tuple(structs.replace(rule, codes=frozenset({105})) for rule in rules.rules)
    )
)


@given(
    rules=ABOUT_LOOK_UPS, user=USER, peer=st.tuples(st.sampled_from(HOSTS), st.one_of(st.none(), st.just(CERTIFICATE))),
    topic=st.sampled_from(TOPICS),
)  # fmt: skip
def test_what_is_explained_of_look_ups_holds_for_the_front(tmp_path_factory, rules, user, peer, topic):
    """A refused look-up is answered by Python, and a socket is lent only if every look-up would be allowed."""
    host, certificate = peer
    signer = user[0] if user is not None and user[1] else None
    fields = {"topic": topic}
    if user is not None:
        fields = sign(fields, b"", access_key=user[0], secret_key=f"{user[0]}-key" if user[1] else "guess")
    who = AccessPeer(parse_ip(host.strip("[]")), () if certificate is None else ("CN=ops",))

    def is_allowed(name: str, by: str | None) -> bool:
        names = Names(topics=frozenset((name,)))
        return explain(rules, AccessCase(code=105, peer=who, user=by, names=names))[0].allowed

    async def asks() -> tuple[list[int], bool]:
        joined = Lending(tmp_path_factory.getbasetemp(), AccessPolicy(rules, KEYS))
        joined.channel.remote_addr, joined.channel.certificate = f"{host}:5", certificate_names(certificate)
        joined.ask(frame(105, **fields))
        codes, is_lent = joined.codes, joined.connection.is_lent
        joined.front.close()
        return codes, is_lent

    codes, is_lent = asyncio.run(asks())
    assert (set(codes) == {16}) == (not is_allowed(topic, signer))
    if is_lent:
        assert all(is_allowed(name, by) for name in (*TOPICS, "none") for by in (None, *KEYS))
