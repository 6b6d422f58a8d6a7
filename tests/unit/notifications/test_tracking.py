"""An incident keeps its id while its history grows, and shrinks."""

from namekeeper.answers.incidents.deviation import Deviation, DeviationKind
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.notifications.tracking import INCIDENTS_LIMIT, Tracking
from tests.unit.notifications.seen import START, found, seen

SECOND, MINUTE = 1_000, 60_000


def tracked(*incidents, up_to=START):
    tracking = Tracking()
    tracking.see(seen(*incidents, up_to=up_to), up_to)
    return tracking


def states(tracking):
    return [(each.facts.subject, each.facts.to_ts) for each in tracking.incidents.values()]


def test_the_id_is_the_same_wherever_the_incident_is_seen_first():
    one, other = tracked(found()), tracked(found(topics=4))
    assert list(one.incidents) == list(other.incidents)
    assert list(tracked(found(from_ts=START + 1)).incidents) != list(one.incidents)


def test_incidents_of_two_clusters_with_one_name_are_two():
    tracking = Tracking()
    both = [
        *seen(found(), up_to=START, namesrvs=("a",)).incidents,
        *seen(found(), up_to=START, namesrvs=("b",)).incidents,
    ]
    tracking.see(seen(up_to=START), START)
    one = seen(up_to=START)
    for _ in range(2):
        tracking.see(type(one)(START, both), START)
    assert len(tracking.incidents) == 2


def test_an_incident_that_moves_or_changes_its_kind_is_the_same():
    tracking = tracked(found())
    (id_,) = tracking.incidents
    for moved in (
        found("a", START - 9 * SECOND, kind=IncidentKind.MASS_DISCONNECT, brokers=3),
        found("a", START - 20 * SECOND, kind=IncidentKind.BROKER_UNREGISTERED),
    ):
        assert not tracking.see(seen(moved, up_to=START + MINUTE), START + MINUTE)
        assert list(tracking.incidents) == [id_]


def test_of_an_unregistered_broker_and_one_that_is_away_each_stays_itself():
    away, asked = found("a"), found("b", START + SECOND, kind=IncidentKind.BROKER_UNREGISTERED)
    tracking = tracked(away, asked)
    over = found("b", START + SECOND, START + MINUTE, kind=IncidentKind.BROKER_UNREGISTERED)
    tracking.see(seen(away, over, up_to=START + MINUTE), START + MINUTE)
    assert states(tracking) == [("a", None), ("b", START + MINUTE)]


def test_two_incidents_that_turn_out_to_be_one_close_with_it():
    tracking = tracked(found("a"), found("b", START + 40 * SECOND), up_to=START + MINUTE)
    tracking.see(seen(found("a"), up_to=START + 2 * MINUTE), START + 2 * MINUTE)
    assert [each.is_open for each in tracking.incidents.values()] == [True, True]
    over = found("a", to_ts=START + 3 * MINUTE)
    tracking.see(seen(over, up_to=START + 3 * MINUTE), START + 3 * MINUTE)
    assert [each.is_open for each in tracking.incidents.values()] == [False, False]
    assert not any(each.facts.is_withdrawn for each in tracking.incidents.values())


def test_an_incident_that_is_not_seen_any_more_is_withdrawn():
    tracking = tracked(found())
    assert tracking.see(seen(up_to=START + MINUTE), START + MINUTE)
    (one,) = tracking.incidents.values()
    assert (one.facts.to_ts, one.facts.is_withdrawn) == (START + MINUTE, True)


def test_an_incident_of_which_the_history_was_dropped_stays_as_it_is():
    tracking = tracked(found())
    assert not tracking.see(seen(up_to=START + MINUTE, since=START + 1), START + MINUTE)
    assert states(tracking) == [("broker-a", None)]
    over = found(to_ts=START + 2 * MINUTE)
    tracking.see(seen(over, up_to=START + 3 * MINUTE, until=START + 1), START + 3 * MINUTE)
    assert states(tracking) == [("broker-a", START + 2 * MINUTE)]


def test_topics_that_could_never_be_written_to_are_no_incident():
    """Each broker of RocketMQ 5 registers such a system topic, and it stays so."""
    kind = {"kind": IncidentKind.TOPIC_UNWRITABLE, "topics": 1}
    never = found("rmq_sys_SYNC_BROKER_MEMBER_broker-a", START, cause=None, **kind)
    lost = found("orders", START, cause="register_broker", **kind)
    assert states(tracked(never, lost)) == [("orders", None)]


def test_name_servers_that_restart_twice_in_a_moment_have_two_incidents():
    down = {"kind": IncidentKind.NAME_SERVER_DOWN, "cluster": None}
    first, second = found("ns1", START, START + SECOND, **down), found("ns1", START + 2 * SECOND, **down)
    tracking = tracked()
    tracking.see(seen(first, up_to=START + SECOND), START + SECOND)
    tracking.see(seen(first, second, up_to=START + 3 * SECOND), START + 3 * SECOND)
    assert states(tracking) == [("ns1", START + SECOND), ("ns1", None)]


def test_too_many_incidents_are_counted_and_not_tracked():
    tracking = tracked()
    down = {"kind": IncidentKind.NAME_SERVER_DOWN, "cluster": None}
    many = [found(f"ns{number}", START + SECOND, **down) for number in range(INCIDENTS_LIMIT + 3)]
    tracking.see(seen(*many, up_to=START + SECOND), START + SECOND)
    assert (len(tracking.incidents), tracking.untracked) == (INCIDENTS_LIMIT, 3)


def test_of_too_many_the_oldest_that_are_over_are_forgotten():
    tracking = tracked()
    down = {"kind": IncidentKind.NAME_SERVER_DOWN, "cluster": None}
    over = [found(f"ns{number}", START + number, START + number + 1, **down) for number in range(2)]
    many = [found(f"open{number}", START + SECOND, **down) for number in range(INCIDENTS_LIMIT)]
    for number, each in enumerate(over):
        tracking.see(seen(each, up_to=START + number + 1), START + number)
    tracking.see(seen(*over, *many, up_to=START + MINUTE), START + MINUTE)
    assert tracking.untracked == 2
    tracking.incidents |= {
        f"x{number}": each for number, each in enumerate(list(tracking.incidents.values())[2:4])
    }
    tracking.forget(START + MINUTE, {next(iter(tracking.incidents))}.__contains__)
    assert [each.facts.subject for each in tracking.incidents.values()][:1] == ["ns0"]
    assert len(tracking.incidents) == INCIDENTS_LIMIT + 1


def test_deviations_of_two_kinds_are_two_incidents():
    one, other = (
        found(
            kind=IncidentKind.DEVIATION, deviation=kind, cause="x",
            deviations=[
                Deviation(
                    kind=kind, cluster="c", topic="t", brokers=("b",), expected="", actual="", name_servers=("ns",),
                    of_name_servers=1, since=START, to=None,
                )
            ],
        )
        for kind in (DeviationKind.TOPIC_MISSING, DeviationKind.QUEUES_CHANGED)
    )  # fmt: skip
    tracking = tracked(one, other)
    ids = list(tracking.incidents)
    assert len(ids) == 2
    tracking.see(seen(other, one, up_to=START + SECOND), START + SECOND)
    assert list(tracking.incidents) == ids
