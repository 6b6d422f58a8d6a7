"""What the page says is wrong now and was wrong lately."""

from pathlib import Path

import pytest

from namekeeper.answers.incidents.lost_topics import TopicFinder
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Followed, Histories
from namekeeper.console.present_incidents import OPEN_LIMIT, PresentIncidents
from namekeeper.history.sources.journal import JournalSource
from namekeeper.notifications.incident_facts import SeenIncident
from namekeeper.notifications.tracking import SeenIncidents, Tracking
from tests.support.history.histories import HOUR, MARCH
from tests.support.journal.folder import journals_of, of_namesrvs
from tests.support.pipeline.days import MINUTE, Day
from tests.unit.answers.incidents.test_reading import SECOND, broker
from tests.unit.answers.story import Story
from tests.unit.console.incident import histories_of
from tests.unit.console.test_histories import Clock


@pytest.fixture
def found(tmp_path: Path):
    """The incidents of a day, as the page follows its journals."""

    def of_day(day: Day):
        histories = Histories([JournalSource(journals_of(tmp_path, of_namesrvs(day.records())))])
        for each in histories.all:
            histories.read(each)
        return PresentIncidents(histories, SystemClock()).value()

    return of_day


def shown(rows):
    return [(row["what"], row["why"], row["topics"], row["from_ts"], row["to_ts"]) for row in rows]


def test_each_failure_has_its_cause_and_what_it_took_along(found):
    day = Day(1)
    orders, payments = (
        broker("broker-a", 1, ["o1", "o2", "both"]),
        broker("broker-b", 2, ["payments", "both"]),
    )
    for each in (orders, payments):
        day.register(SECOND, each)
    day.lose(HOUR, [payments], "channel_closed")
    day.register(HOUR + MINUTE, payments)
    day.lose(23 * HOUR, [orders], "expired")
    value = found(day)
    assert shown(value["open"]) == [("broker-a away", "silent for too long", 2, MARCH + 23 * HOUR, None)]
    assert shown(value["recent"]) == [
        ("broker-b away", "connection closed", 1, MARCH + HOUR, MARCH + HOUR + MINUTE)
    ]  # fmt: skip
    assert (value["open_total"], value["recent_total"]) == (1, 1)
    assert (value["since"], value["up_to"]) == (MARCH, MARCH + 24 * HOUR - MINUTE)


def test_what_does_not_fit_is_counted(found):
    day = Day(1)
    for number in range(OPEN_LIMIT + 3):
        each = broker(f"broker-{number:02}", number, [f"T{number}"])
        day.register(SECOND, each)
        day.lose(HOUR + number * MINUTE, [each], "expired")
    value = found(day)
    assert (len(value["open"]), value["open_total"]) == (OPEN_LIMIT, OPEN_LIMIT + 3)


def test_a_topic_that_one_of_two_running_name_servers_has_is_there(tmp_path: Path):
    """Each of them is known up to another instant, a moment before the present."""
    one, other = Story("a_1"), Story("b_1")
    one.registers("b0", "a0:1", ("T", "alone"))
    other.registers("b0", "a0:1", ("T",))
    histories = histories_of(one, other)
    for number, each in enumerate(histories.all):
        each.followed.is_running = each.followed.is_current = True
        each.followed.history.extend(one.now + 60_000 + 20 * number)
        each.followed.incident_topics = TopicFinder()
        each.followed.incident_topics.held = {"T", "alone"} if number == 0 else {"T"}
    value = PresentIncidents(histories, Clock(one.now + 60_000)).value()
    assert (value["open"], value["recent"]) == ([], [])
    assert value["up_to"] == one.now + 60_000


def test_it_is_found_again_after_a_while_if_something_changed():
    story = Story("a_1")
    story.registers("b0", "a0:1", ("T",))
    story.later(60_000)
    histories, clock = histories_of(story), Clock(story.now)
    present = PresentIncidents(histories, clock)
    assert present.value()["open"] == []
    story.connection_breaks("a0:1")
    story.later(1_000)
    story.alive()
    histories.all[0].followed = Followed(story.history(), progress=(1, 1))
    assert present.value()["open"] == []
    histories.revision += 1
    assert present.value()["open"] == []
    clock.mono_ms += 1_000
    assert [row["what"] for row in present.value()["open"]] == ["b0 away"]


def test_one_incident_is_found_by_its_id_or_else_by_its_start():
    story = Story("a_1")
    story.registers("b0", "a0:1", ("T",))
    story.registers("b1", "a1:1", ("U",))
    story.later(MINUTE)
    story.connection_breaks("a0:1")
    story.later(10 * MINUTE)
    story.connection_breaks("a1:1")
    story.later(1_000)
    story.alive()
    present = PresentIncidents(histories_of(story), Clock(story.now))
    rows = {row["what"]: row for row in present.value()["open"]}
    first, second = rows["b0 away"], rows["b1 away"]
    exact = present.one(first["id"], first["from_ts"])
    assert (exact["is_exact"], exact["rows"]) == (True, [first])
    moved = present.one("0123456789abcdef", second["from_ts"] + 1_000)
    assert (moved["is_exact"], moved["rows"]) == (False, [second])
    assert present.one(first["id"], second["from_ts"] + 10 * MINUTE)["rows"] == []
    tracking = Tracking()
    followed = [SeenIncident(each.incident, each.namesrvs) for each in present.open_ones()]
    tracking.see(SeenIncidents(story.now, followed), story.now)
    assert tracking.incidents.keys() == {first["id"], second["id"]}


def test_of_nothing_nothing_is_wrong():
    value = PresentIncidents(histories_of(), Clock(5)).value()
    assert (value["since"], value["open"], value["recent"]) == (None, [], [])


def test_a_name_server_that_is_not_known_any_more_hides_no_incident_of_the_others():
    """An observer still writes its journal, but nothing of the present is known of it."""
    one, silent = Story("a_1"), Story("b_1")
    one.registers("b0", "a0:1", ("T",))
    silent.registers("b0", "a0:1", ("T",))
    silent_since = silent.now
    one.later(10 * MINUTE)
    one.connection_breaks("a0:1")
    histories = histories_of(one, silent)
    for each in histories.all:
        each.followed.is_running = True
        each.followed.is_current = each.namesrv == "a_1"
    histories.all[0].followed.history.extend(one.now + MINUTE)
    value = PresentIncidents(histories, Clock(one.now + MINUTE)).value()
    assert silent_since < value["up_to"] == one.now + MINUTE
    assert [each["what"] for each in value["open"]] == ["b0 away"]
