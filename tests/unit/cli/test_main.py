"""`namekeeper serve` starts without what other commands need."""

import subprocess
import sys

import pytest

from namekeeper.cli import main as module
from tests.support.system.waiting import PATIENCE

NOT_FOR_SERVE = {
    "click",
    "rich",
    "argparse",
    "shutil",
    "javaproperties",
    "aiohttp",
    "cryptography",
    "prometheus_client",
}


def test_serving_imports_no_more_than_it_needs():
    code = (
        "import sys; from namekeeper.cli.main import main; sys.argv = ['namekeeper', 'serve', '-p']\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60 * PATIENCE
    )
    assert not NOT_FOR_SERVE & set(done.stderr.split())


NOT_FOR_THE_PAST = {
    "asyncio",
    "ssl",
    "duckdb",
    "namekeeper.expected.incidents",
    "namekeeper.lookup_cache.cache",
    "namekeeper.processor.route_answers",
}


NOT_WITHOUT_A_PAGE = {"aiohttp", "namekeeper.console.server"}


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("why", NOT_FOR_THE_PAST),
        ("history", NOT_FOR_THE_PAST),
        ("incidents", NOT_FOR_THE_PAST),
        ("observe", NOT_WITHOUT_A_PAGE),
        ("messages run", NOT_WITHOUT_A_PAGE),
    ],
)
def test_a_command_imports_no_more_than_it_needs(command: str, unneeded: set[str]):
    words = ["namekeeper", *command.split(), "--help"]
    code = (
        f"import sys; from namekeeper.cli.main import main; sys.argv = {words}\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60 * PATIENCE
    )
    assert not unneeded & set(done.stderr.split())


def test_serve_gets_the_arguments_behind_it(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["namekeeper", "serve", "--listen-port", "1"])
    monkeypatch.setattr("namekeeper.cli.serve.main", lambda arguments: arguments)
    monkeypatch.setattr("namekeeper.app.stop_signals.start_with_signals", lambda: None)
    with pytest.raises(SystemExit) as exit_info:
        module.main()
    assert exit_info.value.code == ["--listen-port", "1"]


def test_anything_else_is_a_command_of_the_group_with_a_collector_that_runs_rarely(monkeypatch, capsys):
    spared = []
    monkeypatch.setattr("namekeeper.app.process.spare_the_collector", lambda: spared.append(True))
    monkeypatch.setattr(sys, "argv", ["namekeeper", "--version"])
    with pytest.raises(SystemExit) as exit_info:
        module.main()
    assert exit_info.value.code == 0
    assert capsys.readouterr().out.startswith("namekeeper ")
    assert spared


def test_a_script_with_a_name_of_rocketmq_is_that_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["namekeeper", "mqshutdown", "broker"])
    with pytest.raises(SystemExit) as exit_info:
        module.main()
    assert exit_info.value.code == 255
    assert capsys.readouterr().out.startswith("Useage: mqshutdown namesrv")
