"""The tools give the facts of the commands, with their JSON, and say what is known."""

import json
import re
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from namekeeper.admin.what_if import Gone, what_if
from namekeeper.answers.source import JournalAnswers
from namekeeper.answers.what_if import snapshot_of
from namekeeper.cli.group import namekeeper
from namekeeper.cli.history import EXIT_NOT_KNOWN
from namekeeper.clock import SystemClock
from namekeeper.errors import ConfigError, JournalError, RemotingConnectError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.http.watchers import WhoKnows
from namekeeper.mcp.answers import Sources
from namekeeper.mcp.bounds import ANSWER_BYTES
from namekeeper.mcp.tools import TOOLS, answer_question, schema_of
from tests.support.history.histories import HOUR, MARCH
from tests.support.journal.folder import journals_of
from tests.support.pipeline.days import MINUTE, Day
from tests.unit.mcp.days import broker, day_with_ten_incidents, write

SINCE = "2026-03-01T00:00:00Z"
KNOWN = WhoKnows(
    topic="orders", revision="1", change=None, connections=3, since_count=1, before_count=0,
    since=["10.0.0.9:1"], before=[],
)  # fmt: skip


def sources(folder: Path, who_knows=lambda _topic: {}) -> Sources:
    return Sources(lambda: [str(folder)], who_knows, SystemClock(), UTC)


def ask(folder: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool, which fits its schema."""
    found = answer_question(TOOLS[tool], sources(folder), arguments)
    jsonschema.validate(found, schema_of(TOOLS[tool].answer))
    return found


def command(folder: Path, *words: str) -> Any:
    """The JSON of a command."""
    result = CliRunner().invoke(namekeeper, [*words, "--json", "--zone", "UTC", "--journal", str(folder)])
    assert result.exit_code in {0, 1, EXIT_NOT_KNOWN}, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(day_with_ten_incidents(), tmp_path_factory.mktemp("journals"))


def test_ten_incidents_are_those_of_the_command(folder: Path):
    found = ask(folder, "incidents", since=SINCE)
    wanted = command(folder, "incidents", "--since", SINCE)
    assert (found["open"], found["recent"], found["namesrvs"]) == (
        wanted["open"], wanted["recent"], wanted["namesrvs"],
    )  # fmt: skip
    assert (found["open_total"], found["recent_total"]) == (1, 10)
    assert found["left_out"] == []
    assert {each["kind"] for each in (*found["open"], *found["recent"])} == {
        "broker_away", "mass_disconnect", "broker_unregistered", "permission_wiped", "topic_unwritable",
        "topic_deleted", "name_server_down", "drift",
    }  # fmt: skip


def test_deviations_from_an_expected_state_are_those_of_the_command(folder: Path, tmp_path: Path):
    file = tmp_path / "expected.toml"
    run = CliRunner().invoke(
        namekeeper,
        ["expect", "learn", "--journal", str(folder), "--at", str(MARCH + HOUR), "--expect", str(file)],
    )
    assert run.exit_code == 0, run.output
    expecting = structs.replace(sources(folder), expected=ExpectedFile(str(file)))
    found = answer_question(TOOLS["incidents"], expecting, {"since": SINCE})
    jsonschema.validate(found, schema_of(TOOLS["incidents"].answer))
    wanted = command(folder, "incidents", "--since", SINCE, "--expect", str(file))
    assert (found["open"], found["recent"]) == (wanted["open"], wanted["recent"])
    assert "deviation" in {each["kind"] for each in (*found["open"], *found["recent"])}


@pytest.mark.parametrize("topic", ["orders", "payments", "shipping", "old-topic", "audit", "mail"])
def test_the_cause_and_the_route_at_each_incident_are_those_of_the_commands(folder: Path, topic: str):
    for hour in (2, 8, 12, 20, 23):
        at = str(MARCH + hour * HOUR + 30_000)
        why, route = ask(folder, "why", topic=topic, at=at), ask(folder, "route_at", topic=topic, at=at)
        assert why["explanations"] == command(folder, "why", topic, "--at", at)
        assert route["routes"] == command(folder, "route-at", topic, "--at", at)


@pytest.mark.parametrize("name", ["orders", "broker-b", "10.0.0.3:10911", "10.0.0.4", None])
def test_the_history_is_that_of_the_command_newest_first(folder: Path, name: str | None):
    found = ask(folder, "history", **({} if name is None else {"name": name}), **{"from": SINCE}, limit=200)
    wanted = command(folder, "history", *([] if name is None else [name]), "--from", SINCE)
    assert found["entries"] == wanted[::-1]
    assert (found["total"], found["is_recorded"]) == (len(wanted), True)


def test_the_drift_is_that_of_the_command(folder: Path):
    for hour in (1, 16, 20):
        at = str(MARCH + hour * HOUR + 20_000)
        assert ask(folder, "drift", at=at)["drift"] == command(folder, "drift", "--at", at)
    assert ask(folder, "drift", at=str(MARCH + 16 * HOUR + 20_000))["drift"]["total"] == 1


def test_what_would_be_left_is_what_the_command_says_of_a_name_server_that_holds_the_same(folder: Path):
    """The command asks one that runs; both give the same function the same brokers and routes."""
    at = str(MARCH + 5 * HOUR)
    found = ask(folder, "what_if", without=["broker-b", "10.0.0.3:10911"], at=at)["results"]
    assert [each["namesrv"] for each in found] == [
        each["namesrv"] for each in ask(folder, "status")["namesrvs"]
    ]
    for each in found:
        state = JournalAnswers([str(folder)]).held(each["namesrv"], MARCH + 5 * HOUR).state
        assert state is not None
        gone = Gone(frozenset({"broker-b"}), frozenset({"10.0.0.3:10911"}))
        wanted = what_if(snapshot_of(each["namesrv"], state), gone, load_limit=1.5)
        assert each == msgspec.to_builtins(wanted)
        assert [one["topic"] for one in each["unwritable"]] == ["payments", "shipping"]
        assert each["gone"] == ["10.0.0.2:10911", "10.0.0.3:10911"]


@pytest.mark.parametrize(("asked", "says"), [
    ({}, "nothing is taken away"),
    ({"without": ["broker-x"]}, "has the broker or zone 'broker-x'"),
    ({"without_zones": ["z"]}, "has the broker or zone 'z'"),
])  # fmt: skip
def test_without_a_broker_that_nobody_has_nothing_is_computed(folder: Path, asked: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        answer_question(TOOLS["what_if"], sources(folder), {**asked, "at": str(MARCH + 5 * HOUR)})


def test_names_are_found_also_of_what_is_gone(folder: Path):
    found = ask(folder, "search", text="O", since=SINCE)["found"]
    kinds = {each["kind"]: each["names"] for each in found["kinds"]}
    assert kinds["topic"] == ["old-topic", "orders"]
    assert kinds["broker"] == [f"broker-{letter}" for letter in "abcde"]


def test_the_status_counts_open_incidents_and_says_up_to_when_it_is_known(folder: Path):
    day_before_the_end = Sources(lambda: [str(folder)], lambda _topic: {}, _ClockAt(MARCH + 24 * HOUR), UTC)
    found = answer_question(TOOLS["status"], day_before_the_end, {})
    assert found["open_incidents"] == {"broker_away": 1}
    assert [each["brokers"] for each in found["namesrvs"]] == [4, 4]
    end = MARCH + 24 * HOUR - MINUTE
    assert [each["knows_up_to"] for each in found["known"]] == [end, end]


class _ClockAt:
    def __init__(self, wall_ms: int) -> None:
        self._wall_ms = wall_ms

    def now(self) -> Any:
        return structs.replace(SystemClock().now(), wall_ms=self._wall_ms)


@pytest.mark.parametrize(("tool", "about"), [
    ("incidents", {"since": SINCE}), ("history", {"name": "orders", "from": SINCE}),
    ("why", {"topic": "orders", "at": str(MARCH + 20 * HOUR + MINUTE)}),
    ("drift", {"at": str(MARCH + 20 * HOUR + MINUTE)}),
])  # fmt: skip
def test_a_time_about_which_nothing_is_known_is_a_gap(folder: Path, tool: str, about: dict[str, str]):
    first, second = ask(folder, tool, **about)["known"]
    assert first["gaps"] == []
    assert second["gaps"] == [
        {
            "state": "stopped", "begin": MARCH + 20 * HOUR, "begin_iso": "2026-03-01T20:00:00.000Z",
            "end": MARCH + 20 * HOUR + 10 * MINUTE, "end_iso": "2026-03-01T20:10:00.000Z",
        }
    ]  # fmt: skip


def test_a_route_in_a_gap_is_not_known(folder: Path):
    found = ask(folder, "route_at", topic="orders", at=str(MARCH + 20 * HOUR + MINUTE))
    assert found["routes"][1]["route"] is None
    assert [each["state"] for each in found["known"][1]["gaps"]] == ["stopped"]


def test_lost_records_are_a_gap(tmp_path: Path):
    day = Day(1)
    day.register(1_000, broker("broker-a", 1, "orders"))
    records = day.records()
    namesrv = records[0]["namesrv"]
    del records[len(records) // 2 : len(records) // 2 + 10]
    journals_of(tmp_path, {str(namesrv): records})
    (known,) = ask(tmp_path, "history", **{"from": SINCE})["known"]
    assert [each["state"] for each in known["gaps"]] == ["unknown"]


@pytest.mark.parametrize("tool", ["why", "history"])
def test_an_unknown_name_is_no_error_and_similar_names_are_given(folder: Path, tool: str):
    asked = {"topic": "order"} if tool == "why" else {"name": "order", "from": SINCE}
    found = ask(folder, tool, **asked)
    assert (found["is_recorded"], found["similar"]) == (False, ["orders"])


def test_a_limit_leaves_out_what_is_counted_and_says_how_to_ask_for_less(folder: Path):
    found = ask(folder, "incidents", since=SINCE, limit=2)
    assert len(found["recent"]) == 2
    assert found["left_out"] == [{"path": "recent", "unit": "items", "shown": 2, "total": 10}]
    assert found["ask_for_less"] == TOOLS["incidents"].less


def test_older_changes_are_had_by_the_time_of_the_last_one(folder: Path):
    every = ask(folder, "history", name="broker-a", **{"from": SINCE}, limit=200)["entries"]
    first = ask(folder, "history", name="broker-a", **{"from": SINCE}, limit=3)["entries"]
    older = ask(folder, "history", name="broker-a", **{"from": SINCE, "to": str(first[-1]["at"] - 1)})
    assert [*first, *older["entries"]] == every


def test_an_answer_about_thousands_of_topics_keeps_to_its_size(tmp_path: Path):
    day = Day(1)
    large = broker("broker-a", 1, *(f"topic-{number:04}" for number in range(5_000)))
    day.register(1_000, large)
    day.lose(HOUR, [large], "expired", 120_000)
    write(day, tmp_path)
    found = ask(tmp_path, "history", **{"from": SINCE})
    assert len(msgspec.json.encode(found)) < ANSWER_BYTES + 2_000
    rows = next(each for each in found["left_out"] if each["path"] == "entries[].rows")
    assert rows["total"] > 10_000 > rows["shown"]
    assert found["ask_for_less"]


@pytest.mark.parametrize(("tool", "asked", "says"), [
    ("why", {}, "topic is missing"),
    ("why", {"topic": 7}, "topic must be a text in quotes, not a whole number"),
    ("why", {"topic": ""}, "length >= 1"),
    ("why", {"topic": "a" * 1_001}, "length <= 1000"),
    ("why", {"topic": "a", "when": "now"}, "unknown key 'when'"),
    ("why", {"topic": "a", "at": "soon"}, "'soon' is not a time"),
    ("incidents", {"limit": 201}, "<= 200"),
    ("history", {"from": "now", "to": SINCE}, "is after"),
])  # fmt: skip
def test_a_wrong_question_is_one_line(folder: Path, tool: str, asked: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says) as found:
        answer_question(TOOLS[tool], sources(folder), asked)
    assert "\n" not in str(found.value)


def test_a_folder_without_a_journal_is_an_error_of_the_question(tmp_path: Path):
    with pytest.raises(JournalError):
        answer_question(TOOLS["incidents"], sources(tmp_path), {})


def test_clients_with_an_old_route_are_asked_of_name_servers(folder: Path):
    answers = {"a:9886": KNOWN, "b:9886": RemotingConnectError("b:9886", "can't be asked:\nno route")}
    found = answer_question(TOOLS["who_knows"], sources(folder, lambda _topic: answers), {"topic": "orders"})
    jsonschema.validate(found, schema_of(TOOLS["who_knows"].answer))
    first, second = found["answers"]
    assert first == {"namesrv": "a:9886", "problem": None, "answer": msgspec.to_builtins(KNOWN)}
    assert (second["answer"], second["problem"]) == (None, "b:9886: can't be asked: no route")
    assert [each["knows_up_to"] for each in found["known"]] == [found["asked_at"], None]


def _texts(value: object) -> Sequence[str]:
    """Every text in a schema."""
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *_texts(each))]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def test_every_argument_is_described_and_every_schema_is_valid():
    for tool in TOOLS.values():
        for kind in (tool.question, tool.answer):
            jsonschema.Draft202012Validator.check_schema(schema_of(kind))
            assert schema_of(kind)["type"] == "object"
        for name, about in schema_of(tool.question)["properties"].items():
            assert about["description"], name
        assert all(text.isprintable() for text in _texts(schema_of(tool.answer)))


def test_the_reference_lists_each_tool_with_its_arguments_and_the_members_of_its_answer():
    lines = Path("docs/reference/mcp.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    listed = {row[1].strip("`"): row[2:4] for row in rows if len(row) > 3 and row[1].strip("`") in TOOLS}
    assert [*listed] == [*TOOLS]
    shared = {"known", "notes", "left_out", "ask_for_less"}
    echoed = {"topic", "name", "asked_at_iso"}
    for name, tool in TOOLS.items():
        arguments, answer = (set(re.findall(r"`(\w+)`", text)) for text in listed[name])
        assert arguments == set(schema_of(tool.question)["properties"]), name
        assert answer == set(schema_of(tool.answer)["properties"]) - shared - echoed, name
