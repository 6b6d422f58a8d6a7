"""What a fleet says while it runs."""

import io

from rich.console import Console

from namekeeper.cli.fleet_show import FleetShow, describe
from namekeeper.errors import RemotingConnectError
from namekeeper.fleet.churn import ChurnKind, parse_churn
from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import Action, Die, FleetSettings, SwitchRole

PLAN = make_plan(FleetSettings(brokers=20, slaves=1, churn=parse_churn("wild"), duration_seconds=600))


def shown(*, terminal):
    text = io.StringIO()
    return text, FleetShow(Console(file=text, width=200, force_terminal=terminal), PLAN)


def kinds():
    seen, waiting = set(), [Action]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        seen |= set(below)
    return seen


def test_every_action_has_words():
    assert {type(action) for action in PLAN.actions} == kinds()
    for action in PLAN.actions:
        text = describe(action, {})
        assert text
        assert "{" not in text


def test_brokers_have_their_names():
    names = {"h:1": "broker-a (h:1)", "h:2": "broker-b (h:2)"}
    assert describe(Die(0, ChurnKind.DEATHS, "h:1"), names) == "broker-a (h:1) dies (deaths)"
    assert describe(SwitchRole(0, ChurnKind.SWITCHES, "h:1", "h:2", 1), names) == (
        "broker-b (h:2) becomes master in place of broker-a (h:1)"
    )


def test_lines_without_a_terminal():
    text, show = shown(terminal=False)
    fleet = Fleet(PLAN, "a:1")
    fleet.summary.failures["a:1"] = 3
    fleet.summary.last_failure = "a:1: refused"
    fleet.summary.actions["Die"] = 2
    with show.bar():
        show.begins()
        show.started(fleet)
        show.acted(
            Die(61_500, ChurnKind.DEATHS, PLAN.brokers[0].broker_addr), RemotingConnectError("a:1", "refused")
        )
        show.stops(fleet)
    show.ended(fleet)
    lines = text.getvalue().splitlines()
    assert lines[0] == "40 brokers in 1 cluster, 20 topics each"
    assert "a:1: 0 registrations accepted, 3 failed" in lines
    assert "last failure: a:1: refused" in lines
    assert "   1:01.5  cluster-1-broker-001 (127.0.0.1:20911) dies (deaths)  failed: a:1: refused" in lines
    assert "2 Die; 0 failed; 0 brokers left running" in lines


def test_a_terminal_has_a_bar_too():
    text, show = shown(terminal=True)
    with show.bar():
        show.started(Fleet(PLAN, "a:1"))
        show.acted(PLAN.actions[0], None)
    assert f"1/{len(PLAN.actions)}" in text.getvalue()
