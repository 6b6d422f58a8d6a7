"""Maintenance windows: what they cover, and the log that has them."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from namekeeper.answers.incidents.deviation import Deviation, DeviationKind
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.incidents.texts import what
from namekeeper.errors import ConfigError
from namekeeper.expected import maintenance
from namekeeper.expected.maintenance import (
    EARLY_MS,
    KEPT_BACK_BYTES,
    NOTES_LIMIT,
    MaintenanceLog,
    MaintenanceWindow,
    Scope,
    WindowsByName,
    log_beside,
    planned_deviation,
    with_plan,
)
from namekeeper.files import SMALL_FILE_BYTES
from tests.unit.expected.seeds import HOSTILE

BEGIN, END = 1_000_000, 2_000_000
ALICE = {"who": "alice@host", "why": "upgrade", "now": BEGIN}


def window(id_: str = "w", begin: int = BEGIN, end: int = END, **scope) -> MaintenanceWindow:
    return MaintenanceWindow(id=id_, begin=begin, end=end, scope=Scope(**scope), who="a", why="")


def deviation(**more) -> Deviation:
    values = {
        "kind": DeviationKind.QUEUES_CHANGED, "cluster": "c", "topic": "orders", "brokers": ("broker-a", "broker-b"),
        "expected": "8/8 RW-", "actual": "", "name_servers": ("ns-1", "ns-2"), "of_name_servers": 3,
        "since": BEGIN + 1, "to": None, **more,
    }  # fmt: skip
    return Deviation(**values)


def incident(**more) -> FoundIncident:
    values = {
        "kind": IncidentKind.BROKER_AWAY, "cluster": "c", "subject": "broker-a", "from_ts": BEGIN + 1, "to_ts": None,
        "cause": None, "peer": None, "brokers": 2, "broker_names": ["broker-a", "broker-b"], "topics": 3,
        "first_topic": "orders", "name_servers": [], **more,
    }  # fmt: skip
    return FoundIncident(**values)


@pytest.mark.parametrize(
    ("scope", "is_planned"),
    [
        ({"clusters": ("c",)}, True),
        ({"clusters": ("d",)}, False),
        ({"topics": ("orders",)}, True),
        ({"topics": ("order",)}, False),
        ({"brokers": ("broker-a",)}, False),
        ({"brokers": ("broker-a", "broker-b")}, True),
        ({"name_servers": ("ns-1",)}, False),
        ({"name_servers": ("ns-1", "ns-2")}, True),
        ({}, False),
    ],
)
def test_a_window_covers_a_deviation_whose_every_broker_or_name_server_it_names(scope, is_planned):
    assert planned_deviation(deviation(), WindowsByName([window(**scope)]), END) == (
        "w" if is_planned else ""
    )


def test_several_windows_together_cover_several_brokers():
    windows = [window("1", brokers=("broker-a",)), window("2", brokers=("broker-b",))]
    assert planned_deviation(deviation(), WindowsByName(windows), END) == "1, 2"
    assert with_plan(incident(), WindowsByName(windows), END).planned == "1, 2"


@pytest.mark.parametrize(
    ("since", "to", "now", "is_planned"),
    [
        (BEGIN, None, END, True),
        (BEGIN, None, END + 1, False),
        (BEGIN, END, END + 1, True),
        (BEGIN, END + 1, END + 2, False),
        (BEGIN - EARLY_MS, None, END, True),
        (BEGIN - EARLY_MS - 1, None, END, False),
    ],
)
def test_what_begins_and_ends_in_a_window_is_planned(since, to, now, is_planned):
    windows = [window(clusters=("c",))]
    assert bool(planned_deviation(deviation(since=since, to=to), WindowsByName(windows), now)) is is_planned
    assert (
        bool(with_plan(incident(from_ts=since, to_ts=to), WindowsByName(windows), now).planned) is is_planned
    )


@pytest.mark.parametrize(
    ("more", "scope", "is_planned"),
    [
        ({}, {"brokers": ("broker-a",)}, False),
        ({}, {"brokers": ("broker-a", "broker-b")}, True),
        ({}, {"clusters": ("c",)}, True),
        ({}, {"topics": ("orders",)}, False),
        (
            {"kind": IncidentKind.NAME_SERVER_DOWN, "subject": "ns-1", "cluster": None, "broker_names": []},
            {"name_servers": ("ns-1",)}, True,
        ),
    ],
)  # fmt: skip
def test_a_window_covers_an_incident_that_is_about_nothing_else(more, scope, is_planned):
    assert bool(with_plan(incident(**more), WindowsByName([window(**scope)]), END).planned) is is_planned


def deleted(*topics: str, **more) -> FoundIncident:
    return incident(
        kind=IncidentKind.TOPIC_DELETED, subject=topics[0], first_topic=topics[0], topics=len(topics),
        topic_names=[*topics], **more,
    )  # fmt: skip


def test_windows_of_all_topics_cover_an_incident_of_several():
    windows = [window("1", topics=("orders", "mail")), window("2", topics=("payments",))]
    assert with_plan(deleted("mail", "orders", "payments"), WindowsByName(windows), END).planned == "1, 2"


def test_an_incident_of_which_some_topics_are_planned_shows_the_others():
    one = with_plan(deleted("mail", "orders", "payments"), WindowsByName([window(topics=("mail",))]), END)
    assert (one.planned, one.subject, one.topics, one.planned_topics) == ("", "orders", 2, 1)
    assert what(one) == "orders and 1 more (and 1 planned) deleted, and clients ask for it"


def test_an_incident_whose_topics_are_not_all_known_is_not_covered_by_some():
    many = structs.replace(deleted("mail", "orders"), topics=200)
    one = with_plan(many, WindowsByName([window(topics=("mail", "orders"))]), END)
    assert (one.planned, one.topics) == ("", 200)


@pytest.mark.parametrize(
    ("scope", "is_planned"),
    [
        ({"name_servers": ("ns-3",)}, True),
        ({"name_servers": ("ns-1",)}, False),
        ({"brokers": ("broker-a", "broker-b")}, True),
        ({"brokers": ("broker-b",)}, False),
        ({"topics": ("orders",)}, True),
        ({"topics": ("mail",)}, False),
    ],
)
def test_a_window_covers_drift_at_its_name_servers_brokers_or_topics(scope, is_planned):
    drift = incident(kind=IncidentKind.DRIFT, topics=0, topic_names=["orders"], name_servers=["ns-3"])
    assert bool(with_plan(drift, WindowsByName([window(**scope)]), END).planned) is is_planned
    assert with_plan(drift, WindowsByName([window(**scope)]), END).topic_names == ["orders"]


@pytest.fixture
def log(tmp_path: Path) -> MaintenanceLog:
    return MaintenanceLog(str(tmp_path / "expected.maintenance.jsonl"))


def test_the_log_is_beside_the_expected_state():
    assert log_beside("a/prod.east.toml") == "a/prod.east.maintenance.jsonl"


def test_without_a_log_there_is_no_window(log: MaintenanceLog):
    assert log.windows() == []
    assert not Path(log.path).exists()


def test_each_action_is_a_line_with_who_when_and_why(log: MaintenanceLog):
    id_ = log.start(Scope(brokers=(HOSTILE,), topics=("t",)), BEGIN, END, **ALICE)
    (found,) = log.windows()
    assert found == MaintenanceWindow(
        id=id_,
        begin=BEGIN,
        end=END,
        scope=Scope(brokers=(HOSTILE,), topics=("t",)),
        who="alice@host",
        why="upgrade",
    )
    log.end(id_, who="bob@host", why="done", now=BEGIN + 5)
    assert [each.end for each in log.windows()] == [BEGIN + 5]
    lines = [json.loads(line) for line in Path(log.path).read_text().splitlines()]
    assert [(each["action"], each["who"], each["at"], each["at_iso"], each["why"], each["window"]) for each in lines] == [
        ("start", "alice@host", BEGIN, "1970-01-01T00:16:40.000Z", "upgrade", id_),
        ("end", "bob@host", BEGIN + 5, "1970-01-01T00:16:40.005Z", "done", id_),
    ]  # fmt: skip


def test_an_end_after_the_end_changes_nothing(log: MaintenanceLog):
    id_ = log.start(Scope(clusters=("c",)), BEGIN, END, **ALICE)
    log.end(id_, who="b", why="", now=END + 5)
    log.end("other", who="b", why="", now=END)
    assert [each.end for each in log.windows()] == [END]


def test_lines_that_can_not_be_read_make_no_window_and_are_notes(log: MaintenanceLog):
    log.start(Scope(clusters=("c",)), BEGIN, END, **ALICE)
    good = Path(log.path).read_text()
    Path(log.path).write_text(f"{good}{{}}\n{'[' * 100_000}\n\n\xff{good[:20]}")
    log.start(Scope(clusters=("d",)), BEGIN, END, **ALICE)
    assert sorted(each.scope.clusters for each in log.windows()) == [("c",), ("d",)]
    assert [note.partition(":")[2].split(" makes")[0] for note in log.notes] == [
        " line 2",
        " line 3",
        " line 5",
    ]


def test_a_reason_is_cut(log: MaintenanceLog):
    log.start(Scope(clusters=("c",)), BEGIN, END, who="a", why="x" * 10_000, now=BEGIN)
    assert len(log.windows()[0].why) == 500


def test_a_log_that_is_full_or_no_file_is_one_line(log: MaintenanceLog, tmp_path: Path):
    id_ = log.start(Scope(clusters=("c",)), BEGIN, END, **ALICE)
    line = Path(log.path).read_bytes()
    Path(log.path).write_bytes(line.rjust(SMALL_FILE_BYTES - KEPT_BACK_BYTES, b"\n"))
    with pytest.raises(ConfigError, match="is full: move it away, and start the windows again"):
        log.start(Scope(clusters=("c",)), BEGIN, END, **ALICE)
    log.end(id_, who="a", why="", now=BEGIN + 1)
    assert [each.end for each in log.windows()] == [BEGIN + 1]
    Path(log.path).write_bytes(b"\n" * SMALL_FILE_BYTES)
    with pytest.raises(ConfigError, match="is full: move it away, and start the windows again"):
        log.start(Scope(clusters=("c",)), BEGIN, END, **ALICE)
    Path(log.path).unlink()
    Path(log.path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError):
        log.start(Scope(clusters=("c",)), BEGIN, END, **ALICE)
    assert not (tmp_path / "elsewhere").exists()
    Path(log.path).unlink()
    Path(log.path).mkdir()
    with pytest.raises(ConfigError):
        log.windows()


def test_a_line_behind_a_torn_one_does_not_pass_the_limit(log: MaintenanceLog):
    log.end("w", who="a", why="", now=BEGIN)
    Path(log.path).write_bytes(b"x" * (SMALL_FILE_BYTES - Path(log.path).stat().st_size))
    with pytest.raises(ConfigError, match="is full"):
        log.end("w", who="a", why="", now=BEGIN)
    assert log.windows() == []


def test_a_user_who_may_plan_little_does_not_keep_others_from_planning(
    log: MaintenanceLog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(maintenance, "USER_BYTES", 500)
    by_tom = {"who": "tom@10.0.0.1:1", "why": "w", "now": BEGIN, "rule": "testers"}
    scope = Scope(brokers=("test-1",))
    ids = [log.start(scope, BEGIN, END, **by_tom) for _ in range(2)]
    for who in ("tom@10.0.0.1:1", "tom@10.0.0.2:7"):
        with pytest.raises(ConfigError, match="has 500 bytes of lines of this user: move it away"):
            log.start(scope, BEGIN, END, **{**by_tom, "who": who})
    log.end(ids[0], **by_tom)
    assert json.loads(Path(log.path).read_text().splitlines()[-1])["why"] == ""
    for other in (
        {**by_tom, "who": "tom@ops@10.0.0.1:1"},
        {**by_tom, "rule": ""},
        {**ALICE, "rule": "planners"},
    ):
        log.start(scope, BEGIN, END, **other)
    assert len(log.windows()) == 5


def test_the_names_of_many_windows_are_compared_once(monkeypatch: pytest.MonkeyPatch):
    looked = []
    monkeypatch.setattr(MaintenanceWindow, "has", lambda self, *_: bool(looked.append(self.id)))
    windows = WindowsByName(window(str(number), topics=(f"topic-{number}",) * 9) for number in range(100))
    assert planned_deviation(deviation(topic="topic-7"), windows, END) == ""
    assert looked == ["7"]


def test_a_log_of_rubbish_is_told_in_a_few_lines(tmp_path):
    log = MaintenanceLog(str(tmp_path / "log"))
    (tmp_path / "log").write_bytes(b"x\n" * 1_000)
    assert log.windows() == []
    assert len(log.notes) == NOTES_LIMIT + 1
    assert "980 more lines can't be read" in log.notes[-1]
