"""A short run against Java 5.5.0; the long one is `make differential`."""

import itertools

import pytest

from tests.differential.generator import generate
from tests.differential.play import RunCounts, play
from tests.differential.report import PAGE, page
from tests.differential.runner import Plan, pair, run, show_differences
from tests.differential.servers import JAVA_PROPERTIES, OURS
from tests.differential.shared import generate_shared
from tests.differential.steps import SHARED, Restart, World
from tests.support.java.servers import require
from tests.support.wire.ask import ask

SEQUENCES = 3


def test_the_page_is_made_from_the_list_of_differences():
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.differential --write-docs`"


@pytest.mark.parametrize("make", [generate, generate_shared])
def test_a_seed_always_gives_the_same_sequence(make):
    assert make("seed", "~0~", 200) == make("seed", "~0~", 200)


def test_the_shared_subset_is_for_four():
    assert Plan(("4.8.0", OURS), 1, "seed").shared
    assert not Plan(("5.5.0", OURS), 1, "seed").shared
    assert {"4.8.0", "4.9.7"} == SHARED


def test_over_restarts_namekeeper_does_what_its_model_says():
    """With restored routes and without; against Java's, which forgets, the same sequences are part of each run."""
    plan, played = Plan((OURS,), 1, "restart"), RunCounts()
    with pair(plan.releases) as peers:
        for index in restarting(plan, SEQUENCES):
            tag = f"~{index}~"
            play(peers, World.of(tag), plan.steps(index, tag), played)
    assert played.labels["restart"] == 2 * SEQUENCES
    assert played.effects["routes_restored"] > 0


def restarting(plan: Plan, count: int) -> list[int]:
    """The first sequences of a plan that have restarts."""
    having = (
        index
        for index in itertools.count()
        if any(isinstance(step, Restart) for step in plan.steps(index, "~"))
    )
    return list(itertools.islice(having, count))


@pytest.mark.interop
def test_over_restarts_java_forgets_and_namekeeper_does_not():
    """Listed as `routes_restored`; with restoreRoutes=false both forget, and no difference is allowed."""
    require()
    plan, played = Plan(("5.5.0", OURS), 1, "restart"), RunCounts()
    with pair(plan.releases) as peers:
        for index in restarting(plan, SEQUENCES):
            tag = f"~{index}~"
            play(peers, World.of(tag), plan.steps(index, tag), played)
    assert played.answers["routes_restored"] > 0


@pytest.mark.interop
def test_each_listed_difference_shows_in_its_example():
    require()
    assert show_differences("5.5.0") == []


@pytest.mark.interop
def test_namekeeper_answers_as_java_does():
    require()
    counts, failure = run(Plan(("5.5.0", OURS), 2_000, "pytest"))
    assert failure is None, failure
    assert counts.requests >= 2_000


@pytest.mark.interop
def test_the_running_configuration_has_java_s_names_and_defaults():
    require()
    with pair(("5.5.0", OURS)) as peers:
        java, ours = (_configuration(peer.address) for peer in peers)
    assert java.keys() - ours.keys() <= {"rocketmqHome"}
    differ = {name for name in java.keys() & ours.keys() if java[name] != ours[name]}
    assert differ <= {"configStorePath", "kvConfigPath", "listenPort", *JAVA_PROPERTIES}


def _configuration(address: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in ask(address, 319).body.decode().splitlines())
