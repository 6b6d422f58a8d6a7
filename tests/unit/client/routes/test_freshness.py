from namekeeper.client.routes.freshness import RouteFreshness
from namekeeper.errors import NoNameServerError, RouteDataError
from tests.support.server.builders import at

GONE = NoNameServerError({})
BROKEN = RouteDataError("T", "broken")


def test_what_was_never_asked_for_is_not_known():
    known = RouteFreshness().of("T", at(0), has_route=False)
    assert (known.age_ms, known.confirmed_at, known.absent_since, known.error, known.is_template) == (
        None, None, None, None, False,
    )  # fmt: skip
    assert not RouteFreshness().was_asked("T")


def test_age_counts_from_the_last_confirmation():
    knowledge = RouteFreshness()
    knowledge.confirm("T", at(0), "ns:1", digest=b"d")
    assert knowledge.was_asked("T")
    assert knowledge.digest("T") == b"d"
    assert knowledge.of("T", at(40), has_route=True).age_ms == 40_000
    knowledge.confirm("T", at(30), "ns:2", digest=b"e", is_template=True)
    known = knowledge.of("T", at(40), has_route=True)
    assert (known.age_ms, known.namesrv_addr, known.is_template) == (10_000, "ns:2", True)


def test_a_failure_is_told_until_the_next_success():
    knowledge = RouteFreshness()
    knowledge.confirm("T", at(0), "ns:1")
    assert knowledge.is_new_failure("T", BROKEN)
    knowledge.failed("T", at(30), BROKEN)
    assert not knowledge.is_new_failure("T", RouteDataError("T", "broken"))
    known = knowledge.of("T", at(31), has_route=True)
    assert (known.error, known.error_at, known.age_ms) == (BROKEN, at(30), 31_000)
    knowledge.confirm("T", at(60), "ns:1")
    assert knowledge.of("T", at(61), has_route=True).error is None


def test_an_outage_concerns_every_topic_that_was_not_confirmed_since():
    knowledge = RouteFreshness()
    knowledge.confirm("T", at(0), "ns:1")
    knowledge.cut_off(at(30), GONE)
    knowledge.cut_off(at(60), GONE)
    assert knowledge.of("T", at(61), has_route=True).error is GONE
    assert knowledge.of("Never", at(61), has_route=False).error is GONE
    assert knowledge.over_all(at(61), (), topics=1).cut_off_since == at(30)
    knowledge.confirm("T", at(90), "ns:1")
    assert knowledge.of("T", at(91), has_route=True).error is None
    assert knowledge.over_all(at(91), (), topics=1).cut_off_since is None


def test_absence_is_dated_from_the_first_time_and_ends_with_a_route():
    knowledge = RouteFreshness()
    knowledge.absent("T", at(10))
    knowledge.absent("T", at(40))
    assert knowledge.is_absent("T")
    assert knowledge.of("T", at(50), has_route=False).absent_since == at(10)
    assert knowledge.over_all(at(50), (), topics=0).absent_topics == 1
    knowledge.confirm("T", at(70), "ns:1")
    assert not knowledge.is_absent("T")


def test_over_all_the_oldest_route_counts():
    knowledge = RouteFreshness()
    assert knowledge.over_all(at(0), (), topics=0).oldest_age_ms is None
    knowledge.confirm("T", at(0), "ns:1")
    knowledge.confirm("U", at(20), "ns:1")
    assert knowledge.over_all(at(30), (), topics=2).oldest_age_ms == 30_000
