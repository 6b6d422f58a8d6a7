"""What `explain` says of look-ups is what a server with the native front does, before rules change and after."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.access.names import Names
from namekeeper.access.peer import Peer as AccessPeer
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules import AccessCase, AccessRules, NamePatterns, Rule, explain
from namekeeper.access.signature import sign
from namekeeper.app.name_server import NameServer
from namekeeper.common.networks import parse_ip
from namekeeper.messages.catalogue import NameKind
from namekeeper.remoting.lending import MIN_LOOKUP_READS
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import ResponseCode
from tests.support.wire.peer import Peer, connect
from tests.unit.app.parts import frame, name_server, registration
from tests.unit.app.test_access_law import HOSTS, KEYS, USER
from tests.unit.app.test_access_lending import ABOUT_LOOK_UPS, TOPICS

pytest.importorskip("namekeeper_front", reason="make native builds it")

OPEN = 'mode = "enforce"\n[[rule]]\nname = "anybody"\nrequests = ["any"]\n'
OFFICE = (ip_network("10.0.0.0/24"),)


def about_look_ups(name: str, *, allows: bool = True, topic: str = "*", **conditions: object) -> Rule:
    names = () if topic == "*" else ((NameKind.TOPICS, NamePatterns.of((topic,))),)
    return Rule(name=name, allows=allows, codes=frozenset({105}), networks=OFFICE, names=names, **conditions)


BY_NETWORK = about_look_ups("network")
FIRST = st.sampled_from(
    [
        (),
        (BY_NETWORK,),
        (about_look_ups("user", users=frozenset({"ops"})),),
        (about_look_ups("topic", topic="T1"),),
        (about_look_ups("not T2", allows=False, topic="T2"), BY_NETWORK),
    ]
)
"""Rules before those that are drawn: with the second a socket is lent, with the last three it must not be."""
TEACHER = "192.0.2.1"
TEACHERS = Rule(name="teacher", allows=True, codes=frozenset({105}), networks=(ip_network(TEACHER),))
"""From this host the front learns every answer, also those that others may not have."""
ANY_RULES = st.tuples(FIRST, ABOUT_LOOK_UPS).map(
    lambda found: structs.replace(found[1], rules=(*found[0], *found[1].rules))
)
LOOK_UPS = st.lists(st.tuples(st.sampled_from((*TOPICS, "none")), USER), min_size=1, max_size=3)
ENOUGH = MIN_LOOKUP_READS + 4
"""So often each look-up is sent: it is learned, the socket is lent, and the front answers some."""


class FrontedServer:
    """A server with the native front, a broker and any rules; its loop runs only while something is asked."""

    def __init__(self, runner: asyncio.Runner, server: NameServer) -> None:
        self._runner = runner
        self.server = server

    def use(self, rules: AccessRules) -> None:
        access = self.server.access
        assert access is not None
        access.replace(
            AccessPolicy(structs.replace(rules, rules=(TEACHERS, *rules.rules)), KEYS),
            self.server.server.connections,
        )

    def run(self, host: str, rules: list[AccessRules], look_ups: list[tuple[str, tuple[str, bool] | None]]):
        """The codes that a peer gets over one connection while one set of rules after the other holds."""
        return self._runner.run(self._ask(host, rules, look_ups))

    async def _ask(self, host, rules, look_ups) -> list[list[set[int]]]:
        self.use(rules[0])
        async with self._connected(TEACHER) as teacher, self._connected(host) as peer:
            codes = []
            for each in rules:
                self.use(each)
                for look_up in look_ups:
                    await self._codes(teacher, *look_up)
                codes.append([await self._codes(peer, *look_up) for look_up in look_ups])
            return codes

    @asynccontextmanager
    async def _connected(self, host: str) -> AsyncIterator[Peer]:
        family, own = ("TCP6", "::1") if ":" in host else ("TCP4", "127.0.0.1")
        async with connect(f"127.0.0.1:{self.server.port}") as peer:
            await peer.send(f"PROXY {family} {host} {own} 5000 9876\r\n".encode())
            yield peer

    async def _codes(self, peer: Peer, topic: str, user: tuple[str, bool] | None) -> set[int]:
        fields = {"topic": topic}
        if user is not None:
            name, is_right = user
            fields = sign(fields, b"", access_key=name, secret_key=f"{name}-key" if is_right else "guess")
        found = set()
        for _ in range(ENOUGH):
            await peer.send(frame(105, **fields))
            found.add((await peer.answer()).code)
        return found


@pytest.fixture(scope="module")
def fronted(tmp_path_factory) -> Iterator[FrontedServer]:
    folder = tmp_path_factory.mktemp("front")
    (folder / "access.toml").write_text(OPEN)
    flags = {
        "front": "native",
        "access_file": str(folder / "access.toml"),
        "proxy_protocol_trusted_networks": "127.0.0.1",
    }
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> NameServer:
            server = await stack.enter_async_context(name_server(folder, **flags))
            broker = await stack.enter_async_context(connect(f"127.0.0.1:{server.port}"))
            await broker.send(encode_command(registration(TOPICS)))
            assert (await broker.answer()).code == 0
            return server

        async def stop() -> int:
            """Stop; the number of look-ups that the front answered."""
            answered = made.server.operators.stats().front_lookups
            await stack.aclose()
            return answered

        made = FrontedServer(runner, runner.run(start()))
        yield made
        answered = runner.run(stop())
    assert answered > 0, "the front answered nothing, so nothing was shown"


@settings(max_examples=60, deadline=None)
@given(
    rules=st.lists(ANY_RULES, min_size=2, max_size=2),
    host=st.sampled_from([host.strip("[]") for host in HOSTS]),
    look_ups=LOOK_UPS,
)
def test_what_is_explained_of_look_ups_is_what_the_front_answers(
    fronted: FrontedServer, rules, host, look_ups
):
    peer = AccessPeer(parse_ip(host), ())

    def expected(under: AccessRules, topic: str, user: tuple[str, bool] | None) -> set[int]:
        by = user[0] if user is not None and user[1] else None
        case = AccessCase(code=105, peer=peer, user=by, names=Names(topics=frozenset((topic,))))
        if not explain(under, case)[0].allowed:
            return {int(ResponseCode.NO_PERMISSION)}
        return {0 if topic in TOPICS else int(ResponseCode.TOPIC_NOT_EXIST)}

    wanted = [[expected(under, *look_up) for look_up in look_ups] for under in rules]
    assert fronted.run(host, rules, look_ups) == wanted
