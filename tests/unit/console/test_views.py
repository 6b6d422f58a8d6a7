"""What each view shows, from the query of its address."""

import msgspec
import pytest
from msgspec import structs

from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.render import route_values
from namekeeper.answers.source import JournalAnswers
from namekeeper.console.histories import Followed, Histories
from namekeeper.console.views import ConsoleViews
from namekeeper.drift.incidents import present_drift
from namekeeper.drift.report import find_drift, report_values
from namekeeper.errors import ConfigError
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.model.perm import Perm
from tests.unit.answers.story import MINUTE, Story
from tests.unit.console.incident import histories_of
from tests.unit.console.test_histories import Clock
from tests.unit.drift.fleet import align_ends
from tests.unit.drift.test_shadow import with_shadow

VIEWS = (
    "overview", "incidents", "troubles", "drift", "brokers", "topics", "changes", "beside", "topic", "broker",
    "compare", "search", "why", "audit",
)  # fmt: skip


@pytest.fixture
def views(stories, source):
    return ConsoleViews(histories_of(*stories), lambda: source, Clock(stories[0].now + 5))


def test_the_overview_has_the_name_servers_and_the_ends_of_the_slider(views, stories):
    found = views.overview({})
    assert [row["namesrv"] for row in found["namesrvs"]] == ["a_1", "b_1"]
    assert (found["first"], found["last"]) == (stories[0].journal.boots[0], stories[0].now)
    assert (found["at"], found["now"]) == (None, stories[0].now + 5)
    assert found["causes"]["expired"] == "broker silent for too long"
    assert set(found["shapes"]) >= {"up", "unknown", "server"}


def test_drift_is_what_the_command_finds(stories, tmp_path):
    end = align_ends(stories)
    views = ConsoleViews(histories_of(*stories), None, Clock(end))
    source = JournalAnswers([story.folder(tmp_path / story.journal.namesrv) for story in stories])
    for at, count in ((None, 1), (end, 1), (end - MINUTE, 0)):
        found = views.drift({} if at is None else {"at": str(at)})
        assert found.pop("shadows") == []
        assert found == structs.asdict(report_values(find_drift(source.histories(at, DAY_MS), at), 100))
        assert found["total"] == count
    assert views.drift({"limit": "0"})["verdicts"] == []
    with pytest.raises(ConfigError, match="limit must be a number from 0 to 500"):
        views.drift({"limit": "501"})


def test_drift_of_the_present_says_whether_a_shadow_is_equal():
    stories = with_shadow()
    end = align_ends(stories)
    histories, clock = histories_of(*stories), Clock(end)
    views = ConsoleViews(histories, None, clock)
    assert views.drift({})["shadow_ids"] == ["shadow"]
    (found,) = views.drift({})["shadows"]
    assert (found["id"], found["state"]) == ("shadow", "equal")
    assert found["summary"].startswith(
        "equal for 1 min 1 s, 0 changes: 2 brokers and 4 topics, as at ns-1, ns-2"
    )
    assert views.drift({"at": str(end)})["shadows"] == []
    before = views.present_shadows()
    assert (views.present_shadows() is before, views.is_due("drift", {})) == (True, False)
    clock.mono_ms += 1_000
    assert (views.is_due("drift", {}), views.present_shadows() is before) == (True, False)


def test_present_drift_is_found_again_after_a_while(stories):
    histories, clock = histories_of(*stories), Clock(align_ends(stories))
    views = ConsoleViews(histories, None, clock)
    before = views.present_drift()
    histories.all[0].followed = Followed(stories[0].history())
    assert views.present_drift() is before
    clock.mono_ms += 1_000
    assert views.present_drift() is not before


def test_drift_at_an_instant_is_cached_until_something_changes(stories, monkeypatch):
    asked = []

    def find(histories, at):
        asked.append(at)
        return find_drift(histories, at)

    monkeypatch.setattr("namekeeper.console.views.find_drift", find)
    histories, at = histories_of(*stories), align_ends(stories)
    views = ConsoleViews(histories, None, Clock(at))
    for instant in (at, at, at - 1, at - 1):
        views.drift({"at": str(instant)})
    histories.revision += 1
    views.drift({"at": str(at - 1)})
    assert asked == [at, at - 1, at - 1]


def test_drift_that_takes_long_is_found_less_often(stories, monkeypatch):
    clock = Clock(align_ends(stories))
    views = ConsoleViews(histories_of(*stories), None, clock)

    def find(histories):
        clock.mono_ms += 2_000
        return present_drift(histories)

    monkeypatch.setattr("namekeeper.console.present_incidents.present_drift", find)
    before = views.present_drift()
    clock.mono_ms += 19_999
    assert views.present_drift() is before
    clock.mono_ms += 1
    assert views.present_drift() is not before


def test_the_route_at_an_instant_is_what_route_at_says(views, stories, source):
    for at in range(stories[0].journal.boots[0], stories[0].now + 2_000, 7_000):
        found = views.topic({"name": "T", "at": str(at)})["routes"]
        expected = msgspec.json.decode(msgspec.json.encode(route_values(source.routes("T", at))))
        without = [{name: row[name] for name in row.keys() - {"knowledge_text", "perms"}} for row in found]
        assert msgspec.json.decode(msgspec.json.encode(without)) == expected


def test_a_permission_has_the_text_that_mqadmin_prints():
    story = Story()
    story.registers("broker-a", "10.0.0.1:10911", ("inherits",), perm=Perm.READ | Perm.INHERIT)
    found = ConsoleViews(histories_of(story), None, Clock(story.now)).topic({"name": "inherits"})
    assert [route["perms"] for route in found["routes"]] == [{"broker-a": "R-X"}]


def test_an_instant_has_its_rows(views, stories):
    at = str(stories[0].journal.boots[0] + 1_000)
    assert views.brokers({"at": at})["total"] == 1
    assert views.topics({"at": at})["total"] == 4
    assert views.brokers({})["total"] == 2
    assert views.topics({"text": "pay", "only": "differs"})["total"] == 1


def test_a_name_that_never_was_is_asked_about(views):
    found = views.topic({"name": "paymens"})
    assert not found["is_there"]
    assert "payments" in found["near"]
    found = views.broker({"name": "nobody"})
    assert (found["is_there"], found["sessions"], found["lanes"]) == (False, [], [])


def test_a_broker_has_sessions_and_lanes(views):
    found = views.broker({"name": "b1"})
    assert (found["is_there"], found["session_count"], len(found["lanes"])) == (True, 4, 2)


def test_two_sides_are_compared(views, stories):
    found = views.compare({"a": "a_1", "b": "b_1"})
    assert (found["total"], found["a"]) == (1, {"namesrv": "a_1", "at": stories[0].now})
    with pytest.raises(ConfigError, match="there is no name server 'c_1'; there is a_1, b_1"):
        views.compare({"a": "a_1", "b": "c_1"})


def test_changes_and_search_take_their_query(views):
    assert [row["cause"] for row in views.changes({"cause": "delete_topic", "limit": "5"})["rows"]] == [
        "delete_topic"
    ]
    assert views.changes({"from": "9998-01-01T00:00:00Z"})["rows"] == []
    assert views.search({"q": "payments"})["kinds"][0]["names"] == ["payments"]
    assert views.beside({})["after"] is None


def test_one_incident_is_found_by_its_id_or_near_its_start(tmp_path):
    story = Story()
    story.registers()
    story.later(60_000)
    story.connection_breaks("a0:1")
    story.later(60_000)
    story.alive()
    histories = Histories([JournalSource([FoundJournal(story.folder(tmp_path))])])
    for each in histories.all:
        histories.read(each)
    views = ConsoleViews(histories, None, Clock(story.now))
    assert views.is_due("incident", {})
    (row,) = views.incidents({})["open"]
    began = str(row["from_ts"])
    for id_, is_exact in ((row["id"], True), ("of before", False)):
        found = views.incident({"id": id_, "began": began})
        assert (found["is_exact"], found["rows"]) == (is_exact, [row])
    assert views.incident({"id": row["id"], "began": "1"})["rows"] == []
    assert [each.incident.from_ts for each in views.open_incidents()] == [row["from_ts"]]
    with pytest.raises(ConfigError, match="say when it began"):
        views.incident({"id": row["id"]})


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_nothing_is_a_value_for_json(view):
    """A console may be opened before there is a record."""
    views = ConsoleViews(histories_of(), lambda: JournalAnswers([]), Clock(5))
    try:
        asked = getattr(views.journals if view in {"why", "audit"} else views, view)
        found = asked({"name": "T", "q": "T"})
    except ConfigError as error:
        assert "there is no name server" in str(error)  # noqa: PT017 - one view of ten may say so
    else:
        msgspec.json.encode(found)
