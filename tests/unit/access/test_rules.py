"""The first rule that holds decides; what no rule covers is refused."""

from ipaddress import ip_address, ip_network
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.access.names import NO_NAMES, Names
from namekeeper.access.peer import NOBODY, Peer
from namekeeper.access.request_class import CLASSES, HTTP_PAGES, codes_of
from namekeeper.access.rules import (
    REFUSED_BY_DEFAULT,
    AccessMode,
    AccessRules,
    Decision,
    NamePatterns,
    PeerRules,
    Rule,
)
from namekeeper.messages.catalogue import NameKind, RequestClass

INSIDE = Peer(ip_address("10.1.2.3"))
OUTSIDE = Peer(ip_address("192.0.2.1"))
WITH_CERTIFICATE = Peer(ip_address("192.0.2.1"), ("CN=ops,O=Example", "DNS:ops.example"))
ALL = frozenset(map(int, CLASSES))


def rules(*several: Rule) -> AccessRules:
    return AccessRules(AccessMode.ENFORCE, several)


def rule(name: str = "r", codes: frozenset[int] = ALL, **more: object) -> Rule:
    return Rule(name=name, codes=codes, **more)  # type: ignore[arg-type]


def patterns(*texts: str) -> NamePatterns:
    return NamePatterns.of(texts)


WHO = {
    "network": {"networks": (ip_network("10.0.0.0/8"),)},
    "user": {"users": frozenset(("ops",))},
    "certificate": {"certificates": patterns("CN=ops,*")},
    "anybody": {},
}
IDENTITIES = {
    "inside": (INSIDE, None, {"network", "anybody"}),
    "outside": (OUTSIDE, None, {"anybody"}),
    "no address": (NOBODY, None, {"anybody"}),
    "user": (OUTSIDE, "ops", {"user", "anybody"}),
    "another user": (OUTSIDE, "mallory", {"anybody"}),
    "certificate": (WITH_CERTIFICATE, None, {"certificate", "anybody"}),
    "everything": (Peer(INSIDE.address, WITH_CERTIFICATE.certificate), "ops", set(WHO)),
}


@pytest.mark.parametrize(("identity", "of"), list(product(IDENTITIES, RequestClass)))
def test_every_code_by_every_identity_under_every_class_of_rule(identity: str, of: RequestClass):
    peer, user, proves = IDENTITIES[identity]
    for code, who, allows in product(sorted(ALL), WHO, (True, False)):
        found = rules(rule("it", codes_of(of), allows=allows, **WHO[who])).judge(code, peer, user=user)
        holds = CLASSES[code] is of and who in proves
        assert found == (Decision(allows, "it") if holds else REFUSED_BY_DEFAULT), (code, who, allows)


def test_the_first_rule_that_holds_decides():
    refuse, allow = rule("refuse", allows=False, networks=(ip_network("10.1.0.0/16"),)), rule("allow")
    assert rules(refuse, allow).judge(105, INSIDE) == Decision(allowed=False, rule="refuse")
    assert rules(allow, refuse).judge(105, INSIDE) == Decision(allowed=True, rule="allow")
    assert rules(refuse, allow).judge(105, OUTSIDE) == Decision(allowed=True, rule="allow")


def test_without_rules_everything_is_refused():
    assert {rules().judge(code, INSIDE) for code in ALL} == {REFUSED_BY_DEFAULT}


@pytest.mark.parametrize(
    ("address", "is_inside"),
    [
        ("10.0.0.0", True),
        ("10.0.0.255", True),
        ("10.0.1.0", False),
        ("9.255.255.255", False),
        ("fd00::1", False),
    ],
)
def test_a_network_ends_at_its_prefix(address: str, is_inside: bool):
    one = rules(rule(networks=(ip_network("10.0.0.0/24"),)))
    assert one.judge(105, Peer(ip_address(address))).allowed == is_inside


def test_all_conditions_of_a_rule_must_hold():
    one = rules(rule(networks=(ip_network("10.0.0.0/8"),), users=frozenset(("ops",))))
    assert one.judge(205, INSIDE, user="ops").allowed
    assert not one.judge(205, OUTSIDE, user="ops").allowed
    assert not one.judge(205, INSIDE).allowed


def names(**given: str) -> Names:
    return Names(**{kind: frozenset(text.split()) for kind, text in given.items()})


@pytest.mark.parametrize(
    ("touched", "allowed", "refused"),
    [
        (names(brokers="prod-1"), True, True),
        (names(brokers="prod-1 prod-2"), True, True),
        (names(brokers="prod-1 test-1"), False, True),
        (names(brokers="test-1"), False, False),
        (names(brokers="PROD-1"), False, False),
        (names(brokers="xprod-1"), False, False),
        (NO_NAMES, False, True),
    ],
)
def test_allowed_is_what_is_covered_as_a_whole_and_refused_what_is_in_part(
    touched: Names, allowed: bool, refused: bool
):
    condition = ((NameKind.BROKERS, patterns("prod-*")),)
    allow, refuse = rule("allow", names=condition), rule("refuse", names=condition, allows=False)
    assert rules(allow).judge(103, INSIDE, names=touched).allowed == allowed
    assert rules(refuse, rule("rest")).judge(103, INSIDE, names=touched).allowed != refused


def test_a_rule_about_names_is_not_about_requests_that_never_have_them():
    one = rule(names=((NameKind.TOPICS, patterns("*")),))
    assert {code for code in ALL if one.covers_code(code)} == {105, 216, 217}
    assert rules(rule("r", names=one.names, allows=False), rule("rest")).judge(904, INSIDE).allowed


@pytest.mark.parametrize(
    ("pattern", "name", "covers"),
    [
        ("a", "a", True), ("a", "ab", False), ("a*", "a", True), ("*", "a\nb", True), ("a?c", "abc", True),
        ("a?c", "ac", False), ("[a]", "a", False), ("[a]", "[a]", True), ("a.c", "abc", False), ("%RETRY%*", "%RETRY%g", True),
    ],
)  # fmt: skip
def test_patterns(pattern: str, name: str, covers: bool):
    assert patterns("nothing", pattern).covers(name) == covers


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_a_pattern_covers_what_is_covered_by_some_division_of_the_name(pattern: str, name: str):
    def is_covered(pattern: str, name: str) -> bool:
        if not pattern or not name:
            return not pattern.strip("*") and not name
        if pattern[0] == "*":
            return is_covered(pattern[1:], name) or is_covered(pattern, name[1:])
        return pattern[0] in ("?", name[0]) and is_covered(pattern[1:], name[1:])

    assert patterns(pattern).covers(name) == is_covered(pattern, name)


@pytest.mark.parametrize("pattern", ["*a*b", "a*a*a*b", "*?a*?a*b", "*ab*", "*b*a*"])
def test_a_name_of_a_megabyte_is_judged_at_once(pattern: str):
    """With two `*` and more, each place of one was tried with each place of the other: minutes."""
    assert not patterns(pattern).covers("a" * 1_000_000)


def test_a_peer_meets_the_rules_of_its_network_up_to_the_first_that_is_certain():
    named = rule("named", users=frozenset(("ops",)))
    other = rule("other", networks=(ip_network("172.16.0.0/12"),))
    last = rule("last")
    found = PeerRules(rules(named, other, last, rule("never")), INSIDE)
    assert [one.name for one in found.for_code(105)] == ["named", "last"]
    assert found.needs_user(105)
    assert not found.needs_names(105)
    assert not PeerRules(rules(last), INSIDE).needs_user(105)
    assert PeerRules(rules(rule(names=((NameKind.TOPICS, patterns("a")),))), INSIDE).needs_names(105)


def test_a_certificate_is_compared_once_with_each_rule(monkeypatch: pytest.MonkeyPatch):
    compared: list[str] = []
    covers = NamePatterns.covers
    monkeypatch.setattr(
        NamePatterns, "covers", lambda self, name: (compared.append(name), covers(self, name))[1]
    )
    peer = Peer(INSIDE.address, tuple(f"DNS:{number}" for number in range(50)))
    found = PeerRules(
        rules(rule("a", certificates=patterns("x")), rule("b", certificates=patterns("DNS:49"))), peer
    )
    assert [[one.name for one in found.for_code(code)] for code in (105, 103, 105)] == [["b"], ["b"], ["b"]]
    assert len(compared) == 2 * 50


def test_the_http_pages_are_everybodys_until_a_rule_is_about_them():
    assert rules(rule()).judge(HTTP_PAGES, OUTSIDE) == Decision(allowed=True, rule=None)
    pages = rule("pages", frozenset((HTTP_PAGES,)), networks=(ip_network("10.0.0.0/8"),))
    assert rules(rule(), pages).judge(HTTP_PAGES, INSIDE) == Decision(allowed=True, rule="pages")
    assert rules(rule(), pages).judge(HTTP_PAGES, OUTSIDE) == REFUSED_BY_DEFAULT
