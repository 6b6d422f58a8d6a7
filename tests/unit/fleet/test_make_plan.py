"""Plans: the same for the same seed, in order, and possible."""

import subprocess
import sys
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json, structs

from namekeeper.fleet.churn import ChurnKind, parse_churn
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import (
    AddWritePerm,
    CreateTopic,
    Die,
    FleetSettings,
    Hang,
    Heal,
    Partition,
    Start,
    Stop,
    SwitchRole,
    WipeWritePerm,
)

WILD = parse_churn("wild")
fleets = st.builds(
    FleetSettings,
    brokers=st.integers(2, 5),
    clusters=st.integers(1, 2),
    topics=st.integers(0, 3),
    slaves=st.integers(0, 2),
    churn=st.just(WILD),
    seed=st.integers(0, 1000),
    duration_seconds=st.sampled_from([20.0, 600.0]),
    namesrvs=st.integers(1, 3),
)


@settings(max_examples=50)
@given(fleets)
def test_equal_settings_give_equal_plans(given):
    assert make_plan(given) == make_plan(given)


def test_plans_are_the_same_in_another_process():
    """Nothing in them comes from the order of sets, whose seed differs between processes."""
    code = (
        "from namekeeper.fleet.make_plan import make_plan; from namekeeper.fleet.plan import FleetSettings;"
        "from namekeeper.fleet.churn import parse_churn; from msgspec import json; import sys;"
        "sys.stdout.buffer.write(json.encode(make_plan(FleetSettings(slaves=1, churn=parse_churn('wild')))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == json.encode(make_plan(FleetSettings(slaves=1, churn=WILD)))


@settings(max_examples=100)
@given(fleets)
def test_a_plan_is_possible(given):
    """A broker that is down starts, one that is up stops; what is wiped is given back; roles change between those who are there."""
    plan = make_plan(given)
    assert [action.at_ms for action in plan.actions] == sorted(action.at_ms for action in plan.actions)
    assert all(0 <= action.at_ms < given.duration_seconds * 1000 for action in plan.actions)
    up = {broker.broker_addr: True for broker in plan.brokers}
    cut: dict[str, int | None] = defaultdict(lambda: None)
    master = {broker.broker_name: broker.broker_addr for broker in plan.brokers if broker.broker_id == 0}
    name_of = {broker.broker_addr: broker.broker_name for broker in plan.brokers}
    wiped: set[str] = set()
    state_version = 0
    for action in plan.actions:
        match action:
            case Start(broker_addr=addr):
                assert not up[addr]
                up[addr] = True
            case Stop(broker_addr=addr) | Die(broker_addr=addr) | Hang(broker_addr=addr):
                assert up[addr]
                assert cut[addr] is None
                up[addr] = False
            case SwitchRole():
                assert up[action.master_addr]
                assert up[action.slave_addr]
                assert master[name_of[action.slave_addr]] == action.master_addr != action.slave_addr
                assert action.state_version > state_version
                master[name_of[action.slave_addr]] = action.slave_addr
                state_version = action.state_version
            case WipeWritePerm(broker_name=name):
                assert name not in wiped
                wiped.add(name)
            case AddWritePerm(broker_name=name):
                wiped.remove(name)
            case Partition():
                assert up[action.broker_addr]
                assert cut[action.broker_addr] is None
                assert 0 <= action.namesrv < given.namesrvs
                cut[action.broker_addr] = action.namesrv
            case Heal():
                assert cut[action.broker_addr] == action.namesrv
                cut[action.broker_addr] = None
            case CreateTopic():
                assert action.cluster_name in plan.topics


def test_every_kind_happens():
    plan = make_plan(FleetSettings(brokers=20, slaves=1, churn=WILD, duration_seconds=600))
    assert {action.because for action in plan.actions} == set(ChurnKind)


def test_rates_are_met():
    plan = make_plan(FleetSettings(churn={ChurnKind.TOPICS: 3600}, duration_seconds=3600))
    assert 3300 < len(plan.actions) < 3900


def test_another_rate_of_one_kind_leaves_the_times_of_the_others():
    calm = FleetSettings(churn={ChurnKind.TOPICS: 60, ChurnKind.WIPES: 60}, duration_seconds=3600)
    busy = structs.replace(calm, churn={ChurnKind.TOPICS: 600, ChurnKind.WIPES: 60})
    wipes = [[a for a in make_plan(s).actions if a.because == ChurnKind.WIPES] for s in (calm, busy)]
    assert wipes[0] == wipes[1]


def test_brokers_have_names_addresses_and_topics_of_their_cluster():
    plan = make_plan(FleetSettings(brokers=3, clusters=2, slaves=1, topics=2))
    assert len({broker.broker_addr for broker in plan.brokers}) == 6
    assert {(broker.cluster_name, broker.broker_name) for broker in plan.brokers} == {
        ("cluster-1", "cluster-1-broker-001"), ("cluster-2", "cluster-2-broker-001"), ("cluster-1", "cluster-1-broker-002")
    }  # fmt: skip
    assert [topic.topic_name for topic in plan.topics["cluster-2"]] == [
        "cluster-2-topic-00001",
        "cluster-2-topic-00002",
    ]


def test_without_anybody_it_could_happen_to_nothing_happens():
    plan = make_plan(FleetSettings(slaves=0, churn={ChurnKind.SWITCHES: 3600}))
    assert plan.actions == ()
