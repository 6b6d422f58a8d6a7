"""Who may plan: each kind of name of a window is judged alone, and a user must be proved."""

from ipaddress import ip_address

import pytest

from namekeeper.access.names import NO_NAMES, Names
from namekeeper.access.peer import Peer
from namekeeper.access.planning import judge_plan, plan_parts
from namekeeper.access.request_class import PLANNING_REQUESTS
from namekeeper.access.rules import AccessCase, explain
from namekeeper.access.rules_file import parse_access_file
from namekeeper.errors import ConfigError

HOME, ABROAD = Peer(ip_address("10.0.0.1")), Peer(ip_address("192.0.2.1"))
RULES = parse_access_file(
    """
mode = "audit"
keys = "keys.toml"

[[rule]]
name = "never the bank"
effect = "refuse"
requests = ["planning"]
topics = ["bank-*"]
users = ["topics", "all"]

[[rule]]
name = "test brokers"
requests = ["planning"]
brokers = ["test-*"]
users = ["tester"]

[[rule]]
name = "test clusters"
requests = ["planning"]
clusters = ["test"]
users = ["tester"]

[[rule]]
name = "topics"
requests = ["planning"]
topics = ["*"]
users = ["topics"]

[[rule]]
name = "both"
requests = ["planning", "broker"]
clusters = ["test"]
brokers = ["*"]
users = ["both"]

[[rule]]
name = "any at home"
requests = ["any"]
networks = ["10.0.0.0/8"]
users = ["all"]

[[rule]]
name = "pages"
requests = ["http", "read", "admin"]
""",
    source="access.toml",
).rules


def names(**kinds: str) -> Names:
    return Names(**{kind: frozenset(text.split()) for kind, text in kinds.items()})


CASES = [
    ("tester", names(brokers="test-a test-b"), False, "test brokers"),
    ("tester", names(brokers="test-a prod-a"), False, None),
    ("tester", names(clusters="test"), False, "test clusters"),
    ("tester", names(clusters="test", brokers="test-a"), False, "test clusters, test brokers"),
    ("tester", names(clusters="prod", brokers="test-a"), False, None),
    ("tester", names(clusters="test", brokers="prod-a"), False, None),
    ("tester", names(brokers="test-a", topics="orders"), False, None),
    ("tester", names(brokers="test-a"), True, None),
    ("tester", names(), True, None),
    ("tester", names(), False, None),
    ("tester", names(topics="orders"), False, None),
    ("topics", names(topics="orders"), False, "topics"),
    ("topics", names(topics="orders bank-1"), False, None),
    ("topics", names(brokers="test-a"), False, None),
    ("both", names(clusters="test", brokers="prod-a"), False, None),
    ("both", names(clusters="test"), False, None),
    ("all", names(topics="orders"), False, "any at home"),
    ("all", names(topics="bank-1"), False, None),
    ("nobody", names(brokers="test-a"), False, None),
    (None, names(brokers="test-a"), False, None),
]


@pytest.mark.parametrize(("user", "about", "has_others", "rule"), CASES)
def test_a_window_is_allowed_if_each_kind_of_its_names_is(user, about, has_others, rule):
    decision = judge_plan(RULES, HOME, user, plan_parts(about, has_others=has_others))
    assert (decision.allowed, decision.rule if decision.allowed else None) == (rule is not None, rule)


def test_a_rule_that_refuses_names_refuses_what_may_have_them():
    """A window of a cluster also covers its topics."""
    about = plan_parts(names(clusters="c"))
    assert judge_plan(RULES, HOME, "all", about).rule == "never the bank"


def test_the_expected_state_and_name_servers_need_a_rule_without_names():
    for user, rule in (("tester", None), ("topics", "never the bank"), ("all", "never the bank")):
        assert judge_plan(RULES, HOME, user, plan_parts(NO_NAMES)).rule == rule
    rules = parse_access_file(
        'mode = "enforce"\nkeys = "k"\n[[rule]]\nname = "r"\nrequests = ["planning"]\nusers = ["ann"]',
        source="a",
    ).rules
    assert judge_plan(rules, ABROAD, "ann", plan_parts(NO_NAMES)).allowed
    assert judge_plan(rules, ABROAD, "ann", plan_parts(names(brokers="b"), has_others=True)).allowed


def test_any_has_planning_for_proved_users_only():
    rules = parse_access_file('mode = "enforce"\n[[rule]]\nname = "r"\nrequests = ["any"]', source="a").rules
    parts = plan_parts(names(brokers="b"))
    assert judge_plan(rules, HOME, "ann", parts).rule == "r"
    assert not judge_plan(rules, HOME, None, parts).allowed
    case = AccessCase(code=PLANNING_REQUESTS, peer=HOME, names=parts[0])
    decision, (verdict,) = explain(rules, case)
    assert not decision.allowed
    assert verdict.text == "users: nobody plans without the token of a user"


@pytest.mark.parametrize("user", ["tester", "topics", "both", "all", "nobody", None])
def test_what_is_explained_is_what_is_decided(user):
    for about in [one for _, one, has_others, _ in CASES if not has_others]:
        for part in plan_parts(about):
            case = AccessCase(code=PLANNING_REQUESTS, peer=HOME, user=user, names=part)
            decision, verdicts = explain(RULES, case)
            assert judge_plan(RULES, HOME, user, [part]).allowed == decision.allowed
            assert (verdicts[-1].text == "holds") == (decision.rule is not None)


def test_a_rule_for_planning_with_two_kinds_of_names_would_never_hold():
    text = 'mode = "audit"\n[[rule]]\nname = "r"\nrequests = ["planning"]\nclusters = ["c"]\nbrokers = ["b"]'
    with pytest.raises(ConfigError, match="write a rule for each kind"):
        parse_access_file(text, source="a")
    with pytest.raises(ConfigError, match="none of its requests has namespaces"):
        parse_access_file(text.replace('clusters = ["c"]\nbrokers', "namespaces"), source="a")
