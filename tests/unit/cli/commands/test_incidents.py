"""`namekeeper incidents`: what is wrong now, what was lately, bad input."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.commands.incidents import LINES_SHOWN
from namekeeper.cli.group import namekeeper
from namekeeper.expected.maintenance import MaintenanceLog, Scope, log_beside
from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker
from tests.support.journal.folder import journals_of, of_namesrvs
from tests.support.pipeline.days import MINUTE, Day

SECOND = 1_000


def broker(name: str, number: int, *topics: str) -> Broker:
    specs = dict.fromkeys(topics, (8, 8, READ | WRITE, 0))
    return Broker("c", name, 0, f"10.0.0.{number}:10911", False, None, specs, {})


def asked(folder: Path, live: Callable[[Day], None], *words: str, name_servers: int = 1) -> Result:
    """Ask about a day."""
    day = Day(name_servers)
    live(day)
    journals_of(folder, of_namesrvs(day.records()))
    command = ["incidents", "--since", "2026-03-01", "--zone", "UTC", "--journal", str(folder), *words]
    return CliRunner().invoke(namekeeper, command)


def two_causes(day: Day) -> None:
    """Thirteen topics are lost: twelve with their broker, one because a permission was wiped."""
    orders = broker("broker-a", 1, *(f"orders-{number:02}" for number in range(12)))
    payments = broker("broker-b", 2, "payments")
    for each in (orders, payments):
        day.register(SECOND, each)
    day.lose(HOUR, [payments], "channel_closed")
    day.register(HOUR + MINUTE, payments)
    day.lose(23 * HOUR, [orders], "expired", 120_000)
    for server in day.servers:
        day.at(
            23 * HOUR + 10 * MINUTE, lambda now, server=server: server.set_perm(now, "broker-b", write=False)
        )


def test_topics_that_were_lost_for_two_causes_are_two_lines(tmp_path: Path):
    result = asked(tmp_path, two_causes)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        ("ns-1_9876: its journal is not written any more, 1 broker, 0 writable topics"
        "  (knows up to 2026-03-01 23:59:00.000 UTC)"),
        "",
        "wrong now:",
        ("  broker-a away  since 2026-03-01 23:00:00.000 UTC (59 min)  silent for too long"
        "  without a queue to write to: orders-00 and 11 more"),
        ("  permission to write to broker-b wiped  since 2026-03-01 23:10:00.000 UTC (49 min)"
        "  write permission wiped by 10.9.9.9:55555  without a queue to write to: payments"),
        "over since 2026-03-01:",
        ("  broker-b away  2026-03-01 01:00:00.000 UTC to 2026-03-01 01:01:00.000 UTC (1 min)  connection closed"
        "  without a queue to write to: payments"),
    ]  # fmt: skip


def test_the_status_counts_what_is_wrong_by_its_kind(tmp_path: Path):
    asked(tmp_path, two_causes)
    command = ["status", "--zone", "UTC", "--journal", str(tmp_path)]
    result = CliRunner().invoke(namekeeper, command)
    assert (result.exit_code, result.output.splitlines()) == (1, [
        ("ns-1_9876: its journal is not written any more, 1 broker, 0 writable topics"
        "  (knows up to 2026-03-01 23:59:00.000 UTC)"),
        "2 incidents open: broker_away 1, permission_wiped 1",
    ])  # fmt: skip
    found = json.loads(CliRunner().invoke(namekeeper, [*command, "--json"]).output)
    assert [each["namesrv"] for each in found["namesrvs"]] == ["ns-1_9876"]
    assert found["open_incidents"] == {"broker_away": 1, "permission_wiped": 1}


def test_the_status_is_good_if_nothing_is_wrong(tmp_path: Path):
    asked(tmp_path, lambda day: day.register(SECOND, broker("broker-a", 1, "orders")))
    result = CliRunner().invoke(namekeeper, ["status", "--journal", str(tmp_path)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (
        0,
        "nothing is wrong now, as far as is known",
    )


def test_json_has_every_fact(tmp_path: Path):
    result = asked(tmp_path, two_causes, "--json")
    assert result.exit_code == 1
    found = json.loads(result.output)
    assert found["namesrvs"] == [
        {
            "namesrv": "ns-1_9876", "knowledge": "known", "is_running": False, "brokers": 1, "writable_topics": 0,
            "knows_up_to": MARCH + 24 * HOUR - MINUTE, "knows_up_to_iso": "2026-03-01T23:59:00.000Z",
        }
    ]  # fmt: skip
    away, wiped = found["open"]
    assert (away["kind"], away["cluster"], away["broker_names"], away["topics"]) == (
        "broker_away",
        "c",
        ["broker-a"],
        12,
    )
    assert (away["from_ts"], away["from"], away["to_ts"], away["to"]) == (
        MARCH + 23 * HOUR, "2026-03-01T23:00:00.000Z", None, None,
    )  # fmt: skip
    assert (wiped["kind"], wiped["peer"], wiped["is_open"]) == ("permission_wiped", "10.9.9.9:55555", True)
    assert [each["kind"] for each in found["recent"]] == ["broker_away"]


def test_it_ends_with_0_if_nothing_is_wrong_now(tmp_path: Path):
    result = asked(tmp_path, lambda day: day.register(SECOND, broker("broker-a", 1, "orders")))
    assert result.exit_code == 0
    assert result.output.splitlines()[2:] == ["nothing is wrong now, as far as is known"]


def test_incidents_that_were_over_before_the_time_are_left_out(tmp_path: Path):
    result = asked(tmp_path, two_causes, "--since", "2026-03-01T01:01:00Z")
    assert "over since" not in result.output
    assert "wrong now:" in result.output


def test_a_name_server_that_was_stopped_is_wrong_now(tmp_path: Path):
    def live(day: Day) -> None:
        day.register(SECOND, broker("broker-a", 1, "orders"))
        day.at(12 * HOUR, day.servers[1].stop)

    result = asked(tmp_path, live, name_servers=2)
    assert result.exit_code == 1
    assert "ns-2_9876: the name server was not running" in result.output
    assert "name server ns-2_9876 down  since 2026-03-01 12:00:00.000 UTC" in result.output


def flaps(day: Day) -> None:
    """One broker goes again and again."""
    each = broker("broker-a", 1, "orders")
    day.register(SECOND, each)
    for number in range(1, LINES_SHOWN + 4):
        day.lose(10 * number * MINUTE, [each], "channel_closed")
        day.register(10 * number * MINUTE + 5 * MINUTE, each)


@pytest.mark.parametrize(("words", "lines", "last"), [
    ((), LINES_SHOWN + 1, f"  and 3 more incidents: give --limit {LINES_SHOWN + 3}"), (("--limit", "100"), LINES_SHOWN + 3, None),
])  # fmt: skip
def test_the_output_is_bounded(words: tuple[str, ...], lines: int, last: str | None, tmp_path: Path):
    found = asked(tmp_path, flaps, *words).output.splitlines()
    begin = found.index("over since 2026-03-01:") + 1
    assert len(found) - begin == lines
    assert last is None or found[-1] == last


def test_names_can_not_act_on_a_terminal(tmp_path: Path):
    def live(day: Day) -> None:
        each = broker("broker\x1b[2J", 1, "evil\u202e\ntopic")
        day.register(SECOND, each)
        day.lose(HOUR, [each], "expired")

    output = asked(tmp_path, live).output
    assert "broker\\x1b[2J away" in output
    assert "evil\\u202e\\ntopic" in output


def test_a_folder_without_a_journal_is_refused(tmp_path: Path):
    result = CliRunner().invoke(namekeeper, ["incidents", "--journal", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not a journal" in result.output


def test_deviations_from_an_expected_state_are_incidents_and_planned_ones_end_with_0(tmp_path: Path):
    file = tmp_path / "expected.toml"
    file.write_text(
        'since = "2026-03-01T00:30:00Z"\n[[cluster]]\nname = "c"\nname_servers = ["ns-1_9876"]\n'
        '[cluster.brokers]\n"broker-a" = [0, 1]\n'
        '[cluster.topics]\n"orders" = { read = 8, write = 8, perm = "RW-" }\n'
    )

    def live(day: Day) -> None:
        day.register(SECOND, broker("broker-a", 1, "orders", "new"))

    folder = tmp_path / "journal"
    plain = asked(folder, live)
    result = asked(folder, live, "--expect", str(file))
    assert (plain.exit_code, result.exit_code) == (0, 1)
    assert result.output.splitlines()[2:] == [
        "wrong now:",
        (
            "  broker broker-a lacks a member: id 0 instead of 0, 1  since 2026-03-01 00:30:00.000 UTC (23 h 29 min)"
        ),
        ("  topic new on broker-a is not expected: 8/8 RW-  since 2026-03-01 00:30:00.000 UTC (23 h 29 min)"),
    ]
    found = json.loads(asked(folder, live, "--expect", str(file), "--json").output)["open"]
    assert [(each["kind"], each["deviation"], each["planned"]) for each in found] == [
        ("deviation", "member_missing", ""), ("deviation", "topic_unexpected", ""),
    ]  # fmt: skip
    log = MaintenanceLog(log_beside(str(file)))
    id_ = log.start(Scope(clusters=("c",)), MARCH, MARCH + 48 * HOUR, who="a", why="", now=MARCH)
    planned = asked(folder, live, "--expect", str(file))
    assert planned.exit_code == 0
    assert planned.output.count(f"planned: window {id_}") == 2


def test_an_expected_state_that_can_not_be_read_is_one_line(tmp_path: Path):
    result = asked(tmp_path / "journal", lambda day: None, "--expect", str(tmp_path / "none.toml"))
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
