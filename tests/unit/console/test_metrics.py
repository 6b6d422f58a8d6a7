"""`/metrics` of the page: the drift of its name servers, and a row for each metric in the documents."""

from pathlib import Path

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.console.metrics import DriftCollector, IncidentCollector, ShadowCollector, render_metrics
from namekeeper.drift.report import find_drift
from namekeeper.drift.shadow import present_shadows
from namekeeper.notifications.incident_facts import SeenIncident
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, align_ends, fleet, report
from tests.unit.drift.test_shadow import C, with_shadow
from tests.unit.notifications.seen import found

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "drift.md"


def samples(found) -> dict[tuple[str, str], float]:
    return {
        (sample.name.removeprefix("namekeeper_drift_"), "".join(sample.labels.values())): sample.value
        for family in DriftCollector(found).collect()
        for sample in family.samples
    }


def test_verdicts_are_counted_by_kind():
    stories = fleet()
    first = stories[2].connection_breaks(A)
    stories[0].later(1_000)
    stories[0].deleted("payments")
    stories[0].deleted("orders")
    align_ends(stories)
    found = samples(report(stories))
    assert {kind: count for (name, kind), count in found.items() if name == "verdicts" and count} == {
        "broker_missing": 1, "topic_missing": 2,
    }  # fmt: skip
    assert found["since_seconds", ""] == first / 1_000
    assert found["name_servers", "compared"] == 3


def test_every_kind_and_state_is_there_from_the_start():
    found = samples(find_drift([]))
    assert set(found.values()) == {0}
    assert sum(name == "verdicts" for name, _ in found) == 8
    assert {label for name, label in found if name == "name_servers"} == {"compared", "alone", "unknown"}


def test_changes_on_their_way_and_name_servers_that_are_not_compared_are_counted():
    stories = fleet()
    stories[0].alive()
    align_ends(stories[1:], 10 * MINUTE)
    other = Story("west")
    other.registers("broker-a", "10.9.0.1:10911")
    align_ends([*stories[1:], other])
    stories[2].connection_breaks(A)
    for story in (stories[1], other):
        story.later(2_000)
        story.alive()
    stories[2].alive()
    found = samples(report([*stories, other]))
    assert (found["unsettled", ""], found["since_seconds", ""]) == (1, 0)
    states = {label: count for (name, label), count in found.items() if name == "name_servers"}
    assert states == {"compared": 2, "alone": 1, "unknown": 1}


def test_no_name_of_a_peer_is_in_the_text():
    stories = fleet()
    stories[2].connection_breaks(A)
    align_ends(stories)
    data, content_type = render_metrics([DriftCollector(report(stories))])
    text = data.decode()
    assert content_type.startswith("text/plain")
    assert 'namekeeper_drift_verdicts{kind="broker_missing"} 1.0' in text
    assert "process_resident_memory_bytes" in text
    assert not any(name in text for name in ("broker-a", "ns-3", "10.0.0.1"))


def test_open_incidents_are_counted_by_kind_and_cluster():
    seen = [
        SeenIncident(found(f"b{number}"), (namesrv,))
        for number, namesrv in enumerate(("e1", "e1", "w1", "?"))
    ]
    seen.append(SeenIncident(found("b9", planned="m1"), ("e1",)))
    (family,) = IncidentCollector(seen, {"e1": "east", "w1": "west", "x1": ""}).collect()
    counts = {(each.labels["kind"], each.labels["cluster"]): each.value for each in family.samples}
    assert {key: count for key, count in counts.items() if count} == {
        ("broker_away", "east"): 2, ("broker_away", "west"): 1, ("broker_away", ""): 1,
    }  # fmt: skip
    assert len(counts) == 3 * len(IncidentKind)


def test_each_kind_of_incident_is_there_while_nothing_is_wrong():
    (family,) = IncidentCollector([], {}).collect()
    assert {(each.labels["cluster"], each.value) for each in family.samples} == {("", 0)}
    assert family.name in (REFERENCE.parent / "observe.md").read_text()


def shadow_samples(*stories: Story) -> dict[tuple[str, ...], float]:
    align_ends(stories)
    collector = ShadowCollector(present_shadows([each.history() for each in stories]))
    return {
        (sample.name.removeprefix("namekeeper_shadow_"), *sample.labels.values()): sample.value
        for family in collector.collect()
        for sample in family.samples
    }


def test_a_shadow_has_numbers_and_without_one_there_are_none():
    assert shadow_samples(*fleet()) == {}
    stories = with_shadow(1, "east")
    for each in stories:
        each.ordered("orders", "broker-a:4")
    stories[0].registers("broker-c", C)
    assert shadow_samples(*stories) == {
        ("compared", "east"): 1,
        ("equal_seconds", "east"): 63,
        ("differences", "east"): 0,
        ("changes", "east"): 1,
        ("brokers", "east", "registered"): 2,
        ("brokers", "east", "not_registered"): 1,
    }
    stories[0].ordered("orders", "broker-b:4")
    found = shadow_samples(*stories)
    assert (found["equal_seconds", "east"], found["differences", "east"]) == (0, 1)


def test_a_shadow_that_is_not_compared_is_0():
    found = shadow_samples(*with_shadow(0))
    assert (found["compared", ""], found["equal_seconds", ""]) == (0, 0)


def test_each_metric_of_a_shadow_has_a_row_in_the_documents():
    rows = (REFERENCE.parent / "shadow.md").read_text().splitlines()
    named = {row.split("`")[1] for row in rows if row.startswith("| `namekeeper_shadow_")}
    stories = with_shadow(1)
    assert named == {
        family.name
        for family in ShadowCollector(present_shadows([each.history() for each in stories])).collect()
    }


def test_each_metric_has_a_row_in_the_documents():
    rows = [line for line in REFERENCE.read_text().splitlines() if line.startswith("| `namekeeper_drift_")]
    named = {row.split("`")[1] for row in rows}
    assert named == {family.name for family in DriftCollector(find_drift([])).collect()}
