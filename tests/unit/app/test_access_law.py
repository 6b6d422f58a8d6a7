"""What `explain` says is what a server does, for any rules and any request."""

import asyncio
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.access.names import NAMED, Names
from namekeeper.access.peer import Peer as AccessPeer
from namekeeper.access.peer import certificate_names
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.request_class import CLASSES
from namekeeper.access.rules import AccessCase, AccessMode, AccessRules, NamePatterns, Rule, explain
from namekeeper.access.signature import sign
from namekeeper.app.access import AccessControl
from namekeeper.common.networks import parse_ip
from namekeeper.messages.catalogue import NameKind
from tests.unit.app.parts import Parts, frame
from tests.unit.remoting.joined import Joined

KEYS = {"ops": ("ops-key",), "guest": ("guest-key",)}
HOSTS = ["10.0.0.1", "10.0.1.1", "[::ffff:10.0.0.1]", "[fd00::1]"]
CERTIFICATE = {"subject": ((("commonName", "ops"),),)}
NAME = st.sampled_from(["a", "ab", "b"])
PATTERNS = st.lists(st.sampled_from(["a", "a*", "?b", "*"]), min_size=1, max_size=2).map(
    lambda texts: NamePatterns.of(tuple(texts))
)


def maybe(strategy):
    return st.one_of(st.none(), strategy)


RULE = st.builds(
    Rule,
    name=st.uuids().map(str),
    allows=st.booleans(),
    codes=st.sets(st.sampled_from(sorted(map(int, CLASSES))), min_size=1).map(frozenset),
    networks=maybe(
        st.sampled_from([(ip_network("10.0.0.0/24"),), (ip_network("fd00::/8"), ip_network("10.0.1.1"))])
    ),
    users=maybe(st.sets(st.sampled_from(["ops", "guest"]), min_size=1).map(frozenset)),
    certificates=maybe(st.just(NamePatterns.of(("CN=o*",)))),
    names=st.dictionaries(st.sampled_from(list(NameKind)), PATTERNS, max_size=2).map(
        lambda found: tuple(found.items())
    ),
)
RULES = st.builds(AccessRules, mode=st.just(AccessMode.ENFORCE), rules=st.lists(RULE, max_size=5).map(tuple))
USER = maybe(st.sampled_from([("ops", True), ("guest", True), ("ops", False)]))


@given(
    rules=RULES, code=st.sampled_from(sorted(map(int, CLASSES))), user=USER,
    peer=st.tuples(st.sampled_from(HOSTS), maybe(st.just(CERTIFICATE))), names=st.fixed_dictionaries({kind: maybe(NAME) for kind in NameKind}),
)  # fmt: skip
def test_what_is_explained_is_what_happens(tmp_path_factory, rules, code, peer, user, names):
    host, certificate = peer
    found = {
        kind: (field, names[kind]) for kind, field in NAMED.get(code, {}).items() if field and names[kind]
    }
    fields = dict(found.values())
    if user is not None:
        name, is_right = user
        fields = sign(fields, b"", access_key=name, secret_key=f"{name}-key" if is_right else "guess")
    case = AccessCase(
        code=code,
        peer=AccessPeer(parse_ip(host.strip("[]")), () if certificate is None else ("CN=ops",)),
        user=user[0] if user is not None and user[1] else None,
        names=Names(**{kind.value: frozenset((name,)) for kind, (_, name) in found.items()}),
    )
    decision, _ = explain(rules, case)
    refusals = asyncio.run(
        _ask(tmp_path_factory.getbasetemp(), rules, frame(code, **fields), f"{host}:5", certificate)
    )
    expected = {} if decision.allowed else {(CLASSES[code].value, decision.rule or "none", "enforce"): 3}
    assert refusals == expected


async def _ask(folder: Path, rules: AccessRules, request: bytes, peer: str, certificate):
    """Ask three times, as the second and third answer may come from the cache."""
    parts = Parts(folder)
    control = AccessControl(
        SimpleNamespace(policy=AccessPolicy(rules, KEYS), trouble=""), parts.requests, parts.state,
        journaling=parts.effects.journaling, lookup_cache=parts.state.lookup_cache,
    )  # fmt: skip
    joined = Joined(control)
    joined.channel.remote_addr, joined.channel.certificate = peer, certificate_names(certificate)
    for _ in range(3):
        joined.deliver(request)
        parts.run_turns()
    return control.refusals()
