"""What is explained is what a server does."""

from ipaddress import ip_address

import pytest

from namekeeper.access.names import Names
from namekeeper.access.peer import Peer
from namekeeper.access.rules import HOLDS, AccessCase, explain
from namekeeper.access.rules_file import parse_access_file

RULES = parse_access_file(
    """
mode = "enforce"
keys = "keys.toml"

[[rule]]
name = "no stranger"
effect = "refuse"
requests = ["any"]
networks = ["192.0.2.0/24"]

[[rule]]
name = "operators"
requests = ["admin"]
users = ["ops"]

[[rule]]
name = "by certificate"
requests = ["admin"]
certificates = ["CN=ops,*"]

[[rule]]
name = "brokers"
requests = ["broker"]
clusters = ["prod"]
brokers = ["prod-*"]
""",
    source="access.toml",
).rules

ADDRESS = ip_address("10.0.0.1")
NAMES = Names(clusters=frozenset(("prod",)), brokers=frozenset(("test-1",)))


@pytest.mark.parametrize(
    ("case", "allowed", "verdicts"),
    [
        (AccessCase(code=105, peer=Peer(ip_address("192.0.2.5"))), False, [HOLDS]),
        (
            AccessCase(code=205, peer=Peer(ADDRESS), user="ops"),
            True,
            ["networks: 10.0.0.1 is in none of them", HOLDS],
        ),
        (
            AccessCase(code=205, peer=Peer(ADDRESS, ("CN=x", "DNS:y"))),
            False,
            [
                "networks: 10.0.0.1 is in none of them",
                "users: the request is not signed",
                "certificates: CN=x, DNS:y",
                "is not about this request",
            ],
        ),
        (
            AccessCase(code=103, names=NAMES, user="mallory"),
            False,
            [
                "networks: an unknown address is in none of them",
                "is not about this request",
                "is not about this request",
                "clusters: prod, brokers: test-1",
            ],
        ),
        (
            AccessCase(code=318, user="mallory", peer=Peer(ADDRESS)),
            False,
            [
                "networks: 10.0.0.1 is in none of them",
                "users: mallory",
                "certificates: there is none",
                "is not about this request",
            ],
        ),
    ],
)
def test_each_rule_says_why(case: AccessCase, allowed: bool, verdicts: list[str]):
    decision, found = explain(RULES, case)
    assert decision.allowed == allowed
    assert [each.text for each in found] == verdicts
    assert (found[-1].rule == decision.rule) == (found[-1].text == HOLDS)


def test_a_rule_about_names_says_that_a_request_has_none():
    rules = parse_access_file(
        'mode = "audit"\n[[rule]]\nname = "r"\nrequests = ["read"]\ntopics = ["a"]', source="x"
    ).rules
    assert (
        explain(rules, AccessCase(code=106))[1][0].text == "limits topics, which this request does not have"
    )
    assert explain(rules, AccessCase(code=105))[1][0].text == "topics: the request names none"
