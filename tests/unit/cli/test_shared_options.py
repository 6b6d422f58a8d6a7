"""One name for one thing, over all commands: they are found by walking the groups."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner, Result

from namekeeper.answers.times import shown, zone_of
from namekeeper.cli.commands.expect import EXPECTED_FILE
from namekeeper.cli.connecting import Connector
from namekeeper.cli.group import LazyGroup, namekeeper
from namekeeper.cli.shared_options import ADDRESSES, OLD_ADDRESSES, Option
from namekeeper.expected.state import ExpectedCluster, ExpectedState
from namekeeper.expected.state_file import expected_text
from namekeeper.pipeline.answers import engines
from namekeeper.pipeline.report import query as report_query
from namekeeper.pipeline.report.contents import make_report
from tests.support.pipeline.report_rows import answers_of, report_rows
from tests.unit.admin.fake_namesrv import A, B, FakeSender, typical
from tests.unit.answers.story import Story

T0 = 1_769_829_120_250
"""2026-01-31 03:12:00.250 UTC."""
EXPECTED_TEXT = expected_text(
    ExpectedState(0, (ExpectedCluster(name="c", name_servers=("a_1",), brokers={"b0": frozenset({0})}),))
)


def walk(
    group: LazyGroup = namekeeper, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from walk(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(walk())
OPTIONS = [
    (path, option)
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
]


def having(*names: str) -> list[tuple[str, ...]]:
    """The commands with an option of one of these names."""
    return sorted({path for path, option in OPTIONS if {*names} & {*option.opts}})


def needed(path: Sequence[str]) -> list[str]:
    """Words that a command can't do without."""
    words = ["--journal", "x"] if tuple(path) == ("observe",) else []
    for param in COMMANDS[tuple(path)].params:
        if param.required:
            value = param.type.choices[0] if isinstance(param.type, click.Choice) else "x"
            words += [param.opts[0], value] if isinstance(param, click.Option) else [value]
    return [*words, "--force"] if tuple(path) == ("expect", "learn") else words


def run(*words: str, obj: object = None, **env: str | None) -> Result:
    return CliRunner(env={"NAMESRV_ADDR": None, "NAMEKEEPER_HTTP_TOKEN": None, **env}).invoke(
        namekeeper, words, obj=obj
    )


def test_the_walk_finds_commands_of_every_group():
    assert {("why",), ("admin", "topicList"), ("journal", "ls"), ("pipeline", "run")} <= COMMANDS.keys()


@pytest.mark.parametrize("path", having(*ADDRESSES[1:]), ids=" ".join)
def test_every_command_reads_the_addresses_of_the_environment_and_rather_the_option(
    path, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path(EXPECTED_FILE).write_text(EXPECTED_TEXT)
    words = [*path, *needed(path), *(["--without", "x"] if path == ("what-if",) else [])]
    home = {"HOME": str(tmp_path)}
    assert "one.without.a.port" in run(*words, NAMESRV_ADDR="one.without.a.port", **home).output
    java = {"JAVA_OPT_EXT": "-Drocketmq.namesrv.addr=one.of.java", **home}
    assert "one.of.java" in run(*words, **java).output
    for name in (*ADDRESSES, *OLD_ADDRESSES):
        result = run(*words, name, "another.without", NAMESRV_ADDR="one.without.a.port", **home)
        assert result.exit_code in (1, 2)
        assert ("another.without" in result.output, "one.without" in result.output) == (True, False)


def test_name_server_addresses_have_one_name():
    """`--namesrv` chooses one by its id, or has the console ask a running one; `journal tail -n` is a number."""
    assert {option.opts[1] for _, option in OPTIONS if "-n" in option.opts} == {"--namesrvAddr", "--lines"}
    listed = {path for path, option in OPTIONS if "NAMESRV_ADDR" in (option.help or "")}
    assert listed == {*having("--namesrvAddr")}
    assert listed > {
        ("compare",),
        ("console",),
        ("who-knows",),
        ("fleet",),
        ("why",),
        ("what-if",),
        ("past",),
    }
    assert "--namesrv " not in run("fleet", "--help").stdout
    assert "no.port" in run("fleet", "--namesrv", "no.port").output


def test_compare_takes_the_two_name_servers_of_the_environment():
    obj = Connector(FakeSender({A: typical(), B: typical()}).opened)
    assert f"{A} and {B} agree" in run("compare", obj=obj, NAMESRV_ADDR=f"{A};{B}").stdout
    assert f"{B} and {A} agree" in run("compare", "-n", f"{B};{A}", obj=obj, NAMESRV_ADDR="x:1").stdout
    assert f"{B} and {A} agree" in run("compare", B, A, obj=obj, NAMESRV_ADDR="x:1;y:2").stdout
    for words, says in [
        ((), "none is given"),
        ((A,), f"these are 1: {A}"),
        (("-n", A), f"these are 1: {A}"),
        (("-n", "a:1;b:2;c:3"), "these are 3: a:1, b:2, c:3"),
    ]:
        result = run("compare", *words, obj=obj)
        assert (result.exit_code, says in result.stderr) == (2, True), result.output


def test_every_command_about_name_servers_takes_the_label_of_a_cluster():
    """`audit` and `access explain` have a cluster in requests, and `maintenance start` RocketMQ's."""
    labelled = {
        path
        for path, option in OPTIONS
        if "--cluster" in option.opts and "clusterLabel" in (option.help or "")
    }
    assert labelled == {
        ("audit",), ("drift",), ("expect", "check"), ("expect", "learn"), ("history",), ("incidents",), ("past",),
        ("route-at",), ("shadow",), ("status",), ("undo",), ("why",),
        ("console",), ("mcp",), ("messages", "run"), ("observe",), ("report",),
    }  # fmt: skip


# Times.

PRINTED = [
    *(shown(T0, zone_of(zone)) for zone in (None, "UTC", "Europe/Berlin", "Asia/Kolkata", "-03:30")),
    "2026-01-31 03:12:00.250",  # `journal ls`
    "2026-01-31 03:12:00+00:00",  # `journal verify`
    "2026-01-31T04:12:00.250+01:00",  # tables of a report
    "2026-01-31 11:12:00,GMT+8",  # log
    str(T0),  # JSON
    "1769829120.25",  # metrics
    "2026-01-31", "03:12", "03:12Z", "yesterday 03:12", "Yesterday at 3:12", "today 00:00", "now",
    "10m", "-5m", "2 hours ago", "1 d 2 h", "2026-01-31T03:12Z",
]  # fmt: skip
TIMES = ("--at", "--from", "--to", "--since", "--until", "--after", "--before")


@pytest.fixture
def words_of(tmp_path, monkeypatch) -> dict[tuple[str, ...], list[str]]:
    """For each command about times: what makes it work, without a server or a warehouse."""
    story = Story("a_1")
    story.registers()
    folder = story.folder(tmp_path / "a_1")
    queries: list[report_query.ReportQuery] = []

    def collect(tables, query, _progress):
        queries.append(query)
        return make_report("UTC", query.sections, answers_of(report_rows()), (None, None))

    monkeypatch.setattr(engines, "open_tables", lambda *_: SimpleNamespace(report_time_zone="UTC"))
    monkeypatch.setattr(report_query, "collect_report", collect)
    monkeypatch.setattr("namekeeper.cli.commands.past._server", lambda *_: None)
    monkeypatch.setattr("namekeeper.cli.commands.past.run_past", lambda *_: None)
    monkeypatch.setattr("namekeeper.cli.commands.past.asyncio.run", lambda _: None)
    monkeypatch.chdir(tmp_path)
    Path(EXPECTED_FILE).write_text(EXPECTED_TEXT)
    journal = ["--journal", folder]
    return {
        ("expect", "check"): journal, ("expect", "learn"): ["--force", "--expect", "learned.toml", *journal],
        ("maintenance", "start"): ["--for", "30m", "--broker", "b"],
        ("why",): ["T", *journal], ("route-at",): ["T", *journal], ("history",): journal,
        ("audit",): journal, ("drift",): journal, ("incidents",): journal, ("past",): journal, ("journal", "replay"): [folder],
        ("shadow",): ["--id", "a_1", *journal], ("undo",): journal, ("report",): ["drift", "--warehouse", "w"],
    }  # fmt: skip


@pytest.mark.parametrize(("path", "name"), [(p, n) for n in TIMES for p in having(n)], ids=str)
def test_every_time_is_read_in_every_form_in_which_one_is_printed(path, name, words_of):
    others = [] if name != "--to" else ["--from", "1970-01-01"]
    for text in PRINTED:
        result = run(*path, *words_of[path], *others, name, text)
        assert result.exit_code in (0, 3, 4), (text, result.output)
        assert "Error" not in result.output
        result = run(*path, *words_of[path], *others, f"{name}={text}")
        assert result.exit_code in (0, 3, 4), (text, result.output)
    result = run(*path, *words_of[path], name, "10 parsecs")
    assert (result.exit_code, "'10 parsecs' is not a time: write it as" in result.output) == (2, True)


def test_a_time_in_a_report_is_the_day_in_the_warehouse_s_zone(monkeypatch, words_of):
    asked: list[tuple[str | None, str | None]] = []

    def collect(_tables, query, _progress):
        asked.append((query.first_day, query.last_day))
        return make_report("UTC", query.sections, answers_of(report_rows()), (None, None))

    monkeypatch.setattr(report_query, "collect_report", collect)
    monkeypatch.setattr(engines, "open_tables", lambda *_: SimpleNamespace(report_time_zone="Asia/Tokyo"))
    for first, last in [
        ("2026-01-31T23:00Z", str(T0 + 86_400_000)), ("2026-02-01", "2026-02-01"),
        ("2026-02-01 00:00", "2026-02-01 23:59"), (shown(T0 + 80_000_000, zone_of("UTC")), "2026-02-01"),
    ]:  # fmt: skip
        assert run("report", *words_of[("report",)], "--from", first, "--to", last).exit_code == 0
    assert asked == [("2026-02-01", "2026-02-01")] * 4


def test_a_boot_may_be_given_as_it_is_listed(tmp_path, monkeypatch):
    story = Story("a_1")
    story.registers()
    folder = story.folder(tmp_path / "a_1")
    monkeypatch.setenv("TZ", "America/New_York")
    (row,) = json.loads(run("journal", "ls", folder, "--json").stdout)
    listed = run("journal", "ls", folder).stdout.splitlines()[1][:23]
    by_time, by_number = (
        run("journal", "cat", folder, "--boot", text).stdout_bytes for text in (listed, str(row["boot"]))
    )
    assert by_time == by_number != b""
    assert run("journal", "cat", folder, "--boot", "1").stdout_bytes == b""


# Token, output, watching.


def test_the_token_of_the_pages_has_one_name():
    found = {path: option for path, option in OPTIONS if option.envvar == "NAMEKEEPER_HTTP_TOKEN"}
    assert {("why",), ("console",), ("who-knows",), ("past",)} <= found.keys()
    for path, option in found.items():
        assert option.opts == ["--http-token"], path
        assert path == ("console",) or option.old_names == ("--token",)
        assert "--token " not in run(*path, "--help").stdout or path in {("console",), ("observe",)}


def test_the_earlier_name_of_an_option_works_and_is_not_shown():
    @click.command()
    @click.option("--new", cls=Option, old_names=["--old"])
    def command(new: str) -> None:
        click.echo(new)

    for name in ("--new", "--old"):
        assert CliRunner().invoke(command, [name, "x"]).stdout == "x\n"
    assert "--old" not in CliRunner().invoke(command, ["--help"]).stdout


@pytest.mark.parametrize("path", having("--json"), ids=" ".join)
def test_every_command_with_json_takes_a_form_of_its_output(path):
    (option,) = (each for command, each in OPTIONS if command == path and "--output" in each.opts)
    assert "-o" in option.opts
    if isinstance(option.type, click.Choice) and "wide" in option.type.choices:
        assert "wide: " in (option.help or "")
        return
    result = run(*path, *needed(path), "-o", "wide")
    assert result.exit_code in (1, 2)
    assert "text" in result.output
    assert "json" in result.output


def test_a_wide_form_shows_more_than_text(tmp_path):
    story = Story("a_1")
    story.registers(topics=[f"T{number}" for number in range(9)])
    folder = story.folder(tmp_path / "a_1")
    obj = Connector(FakeSender({A: typical()}).opened)
    rows = [
        (["admin", "topicRoute", "-t", "UnitT", "-n", A], "#Zone"),
        (["admin", "topicList", "-n", A], "#Cluster Name"),
        (["admin", "clusterList", "-n", A], "#ActingMaster"),
        (["route-at", "T1", "--journal", folder], "#SysFlag"),
        (["history", "--from", "2000-01-01", "--journal", folder], "topic T8"),
        (["journal", "ls", folder], "#name server"),
        (["what-if", "--without", "broker-a", "-n", A], "T"),
    ]
    assert {tuple(words[: 2 if words[0] in ("admin", "journal") else 1]) for words, _ in rows} == {
        path for path, option in OPTIONS
        if "--output" in option.opts and isinstance(option.type, click.Choice) and "wide" in option.type.choices
    }  # fmt: skip
    for words, shows in rows[:-1]:
        text, wide = (run(*words, "-o", form, obj=obj).stdout for form in ("text", "wide"))
        assert (shows in text, shows in wide) == (False, True), (words, text, wide)
    assert "known to brokers only" not in run("admin", "clusterList", "-n", A, "-o", "wide", obj=obj).stderr


WATCHED = having("--watch")


def test_what_goes_on_is_watched():
    assert {("history",), ("journal", "tail"), ("pipeline", "run"), ("journal", "ship")} <= {*WATCHED}
    assert ("admin", "clusterList") in WATCHED
    others = {"--follow", "--interval", "--poll", "--every", "--repeat", "--refresh"}
    for path, option in OPTIONS:
        assert option.hidden or not others & {*option.opts} or "--watch" in option.opts, path


@pytest.mark.parametrize("path", WATCHED, ids=" ".join)
def test_every_watch_takes_a_pause(path):
    command = COMMANDS[path]

    def watch_ms(*words: str) -> int:
        value = command.make_context(path[-1], [*needed(path), *words]).params["watch_ms"]
        assert isinstance(value, int)
        return value

    assert [watch_ms("--watch", text) for text in ("5s", "1m", "7")] == [5_000, 60_000, 7_000]
    assert watch_ms("--watch=1m30s") == 90_000
    if path != ("admin", "clusterList"):
        assert watch_ms("--watch") > 0
    for wrong in ("soon", "0"):
        with pytest.raises(click.UsageError, match="is no duration"):
            watch_ms("--watch", wrong)
