"""Why there was no route, and which requests were checked: what the page reads from journals."""

import pytest
from msgspec import to_builtins

from namekeeper.answers.explain import explain
from namekeeper.answers.render import explanation_values
from namekeeper.answers.source import JournalAnswers
from namekeeper.console.journal_views import JournalViews
from namekeeper.errors import ConfigError
from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.journal.folder import write_journal
from tests.unit.answers.test_audit import judged
from tests.unit.console.incident import histories_of
from tests.unit.console.test_histories import Clock


@pytest.fixture
def views(stories, source):
    return JournalViews(histories_of(*stories), lambda: source, Clock(stories[0].now + 5))


def test_why_is_what_why_says(views, stories, source):
    at = stories[1].now
    found = views.why({"name": "payments", "at": str(at)})
    assert found["explanations"] == to_builtins(
        explanation_values(explain(source.evidence("payments", at), at))
    )
    assert found["explanations"][1]["verdict"] == "deleted"


def test_why_suggests_a_name_for_one_that_is_misspelt(views):
    assert views.why({"name": "paymnets"})["near"] == ": did you mean payments?"
    assert views.why({"name": "payments"})["near"] == ""


def test_why_links_brokers_and_peers_of_the_evidence(views):
    links = views.why({"name": "payments"})["links"]
    assert links["b0"] == "broker"
    assert links["peer:99"] == "peer"


def test_without_journals_why_says_what_it_needs(stories):
    views = JournalViews(histories_of(*stories), None, Clock(stories[0].now))
    with pytest.raises(ConfigError, match="start the console with --journal DIR"):
        views.why({"name": "T"})


def test_the_audit_has_the_newest_requests_of_a_day_first(tmp_path):
    now = 1_700_000_000_000
    asked = [(now - 2 * 86_400_000, "10.0.0.1:1"), (now - 2_000, "10.0.0.2:1"), (now - 1_000, "10.0.0.3:1")]
    records = [
        (ServerStarted(uuid="0a1b2c3d", server_version="1", checksums=True), asked[0][0] - 1),
        *((judged(allowed=True, peer=peer, rule="operators", about=["topics=T"]), at) for at, peer in asked),
    ]
    lines = [
        encode_record(record, Stamp(namesrv="ns-1", boot=1, seq=seq, ts=at, up_ms=seq))
        for seq, (record, at) in enumerate(records, 1)
    ]
    source = JournalAnswers([FoundJournal(str(write_journal(tmp_path, lines)))])
    views = JournalViews(histories_of(), lambda: source, Clock(now))
    found = views.audit({})
    assert [(row["at"], row["peer"]) for row in found["rows"]] == asked[:0:-1]
    assert (found["from"], found["has_more"]) == (now - 86_400_000, False)
    assert found["rows"][0]["what"] == "DELETE_TOPIC_IN_NAMESRV (216) topics=T"
    assert found["rows"][0]["verdict"] == "allowed"
    assert [row["peer"] for row in views.audit({"limit": "1"})["rows"]] == ["10.0.0.3:1"]
    assert views.audit({"limit": "1"})["has_more"]
    assert [row["peer"] for row in views.audit({"from": "0", "text": "10.0.0.1:"})["rows"]] == ["10.0.0.1:1"]


def test_only_so_many_causes_are_looked_for_at_once(views):
    with (
        views._reading_places,
        views._reading_places,
        pytest.raises(ConfigError, match="ask again in a few seconds"),
    ):
        views.why({"name": "T"})
    assert views.why({"name": "T"})["name"] == "T"
