"""What the page says is wrong now and was wrong lately."""

from pathlib import Path

import pytest

from namekeeper.answers.incidents.lost_topics import TopicFinder
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Followed, Histories
from namekeeper.console.present_incidents import OPEN_LIMIT, PresentIncidents, computed_drift
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.expected.maintenance import MaintenanceLog, Scope, log_beside
from namekeeper.expected.state import learn
from namekeeper.expected.state_file import expected_text
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
from tests.unit.drift.fleet import align_ends


@pytest.fixture
def found(tmp_path: Path):
    """The incidents of a day, as the page follows its journals."""

    def of_day(day: Day):
        histories = Histories([JournalSource(journals_of(tmp_path, of_namesrvs(day.records())))])
        for each in histories.all:
            histories.read(each)
        return present_of(histories, SystemClock()).value()

    return of_day


def present_of(histories, clock, expected=None) -> PresentIncidents:
    return PresentIncidents(histories, clock, computed_drift(histories, clock).value, expected)


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
    value = present_of(histories, Clock(one.now + 60_000)).value()
    assert ([each["kind"] for each in value["open"]], value["recent"]) == (["drift"], [])
    assert value["up_to"] == one.now + 60_000


def test_it_is_found_again_after_a_while():
    story = Story("a_1")
    story.registers("b0", "a0:1", ("T",))
    story.later(60_000)
    histories, clock = histories_of(story), Clock(story.now)
    present = present_of(histories, clock)
    assert present.value()["open"] == []
    story.connection_breaks("a0:1")
    story.later(1_000)
    story.alive()
    histories.all[0].followed = Followed(story.history(), progress=(1, 1))
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
    present = present_of(histories_of(story), Clock(story.now))
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


def test_drift_and_open_maintenance_windows_are_shown_and_what_is_planned_comes_last(tmp_path: Path):
    one, other = stories = Story("a_1"), Story("b_1")
    for story in stories:
        story.registers("b0", "a0:1", ("T",))
        story.registers("b1", "a1:1", ("T",))
        story.registers("b2", "a2:1", ("T",))
        story.later(5 * MINUTE)
    histories = histories_of(*stories)
    file = tmp_path / "expected.toml"
    file.write_text(expected_text(learn(histories.shown).state))
    begin, end = one.now, one.now + 60 * MINUTE
    log = MaintenanceLog(log_beside(str(file)))
    window = log.start(Scope(brokers=("b1",)), begin, end, who="ann@host", why="disks", now=begin)
    log.start(Scope(topics=("T",)), end, end + 1, who="ann@host", why="later", now=begin)
    for story in stories:
        story.connection_breaks("a1:1")
    other.connection_breaks("a0:1")
    align_ends(stories, 5 * MINUTE)
    value = present_of(histories_of(*stories), Clock(one.now), ExpectedFile(str(file))).value()
    drift, away = value["open"]
    assert (drift["kind"], drift["what"], drift["planned"]) == (
        "drift", "b0 (a0:1) registers with 1 of 2 name servers (missing: b_1)", "",
    )  # fmt: skip
    assert (away["what"], away["planned"]) == ("b1 away", window)
    assert value["windows"] == [
        {
            "id": window, "begin": begin, "end": end, "who": "ann@host", "why": "disks",
            "scope": {"brokers": ["b1"]}, "more": 0,
        }
    ]  # fmt: skip


def test_of_nothing_nothing_is_wrong():
    value = present_of(histories_of(), Clock(5)).value()
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
    value = present_of(histories, Clock(one.now + MINUTE)).value()
    assert silent_since < value["up_to"] == one.now + MINUTE
    assert [each["what"] for each in value["open"]] == ["b0 away"]
