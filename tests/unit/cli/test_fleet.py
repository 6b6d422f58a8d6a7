"""`namekeeper fleet`: in process where it ends by itself, as a process where signals end it."""

import json
import signal
import sys

import msgspec
import pytest
from click.testing import CliRunner

from namekeeper.cli.fleet import fleet
from namekeeper.fleet.churn import parse_churn
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import FleetSettings
from tests.process.running import NameServerProcess
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask

FLEET = [sys.executable, "-m", "namekeeper", "fleet"]


def run(*args, **env):
    return CliRunner(env={"NAMESRV_ADDR": None, **env}).invoke(fleet, args, prog_name="namekeeper fleet")


@pytest.fixture(scope="module")
def namesrv(tmp_path_factory):
    with NameServerProcess(tmp_path_factory.mktemp("namesrv")) as server:
        yield server.started().address


def test_the_plan_is_printed_and_nothing_is_done():
    result = run(
        "--plan", "--slaves", "1", "--seed", "7", "--churn", "wild", "--duration", "30s", "-n", "a:1;b:1"
    )
    settings = FleetSettings(slaves=1, seed=7, churn=parse_churn("wild"), duration_seconds=30, namesrvs=2)
    assert json.loads(result.stdout) == json.loads(msgspec.json.encode(make_plan(settings)))
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "NAMESRV_ADDR"),
        (("-n", "nonsense"), "host:port"),
        (("-n", "a:1", "--churn", "floods=1/h"), "floods=1/h"),
        (("-n", "a:1", "--brokers", "0"), "brokers is 0"),
        (("-n", "a:1", "--access-key", "me"), "set ROCKETMQ_SECRET_KEY"),
    ],
)
def test_what_can_not_be_used_is_one_line_that_says_what_to_do(args, said):
    result = run(*args)
    assert result.exit_code == 1
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--duration", "soon"), "'soon' is no duration: write it as 90s"),
        (("--brokers", "x"), "'x' is not a valid integer"),
        (("--speed", "slow"), "'slow' is not one of"),
        (("--nonsense",), "No such option '--nonsense'"),
        (("nonsense",), "unexpected extra argument"),
        (("--topics",), "'--topics' requires an argument"),
    ],
)
def test_a_bad_option_ends_with_1_because_2_says_that_no_broker_registered(args, said):
    result = run("-n", "a:1", *args)
    assert result.exit_code == 1
    assert said in " ".join(result.stderr.split())


def test_it_plays_counts_and_leaves_nobody_behind(namesrv, tmp_path):
    command = [
        *FLEET,
        "-n",
        namesrv,
        "--churn",
        "wild",
        "--speed",
        "fast",
        "--slaves",
        "1",
        "--acting-master",
    ]
    with Process("fleet", command, output=tmp_path / "out.txt") as process:
        assert process.wait(within=60) == 0
        lines = process.text().splitlines()
    summary = json.loads(lines[-1])
    plan = make_plan(FleetSettings(slaves=1, churn=parse_churn("wild")))
    assert sum(summary["actions"].values()) == len(plan.actions)
    assert (summary["running"], summary["failed_actions"]) == (0, 0)
    assert ask(namesrv, 206).json()["topicList"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_unregisters_everybody(namesrv, tmp_path, number):
    command = [*FLEET, "-n", namesrv, "--churn", "none", "--duration", "1h", "--compressed"]
    with Process("fleet", command, output=tmp_path / "out.txt") as process:
        process.await_line("4 registrations accepted", within=60)
        eventually(lambda: len(ask(namesrv, 206).json()["topicList"]) == 20, within=10, what="the topics")
        process._child.send_signal(number)
        assert process.wait(within=30) == 0
        assert json.loads(process.text().splitlines()[-1])["running"] == 0
    assert ask(namesrv, 206).json()["topicList"] == []


def test_without_any_name_server_it_says_so_at_the_end(tmp_path):
    command = [*FLEET, "-n", "127.0.0.1:1", "--churn", "none", "--speed", "fast"]
    with Process("fleet", command, output=tmp_path / "out.txt") as process:
        assert process.wait(within=60) == 2
        assert "4 failed" in process.text()
        assert "Traceback" not in process.text()
