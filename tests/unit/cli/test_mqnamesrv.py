"""Options, texts and exit statuses are those of Java's mqnamesrv (protocol.md 5.4)."""

import os
import sys

import pytest

from namekeeper.cli import mqnamesrv

USAGE = "usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ROCKETMQ_HOME", raising=False)
    for name in [name for name in os.environ if name.startswith("NAMEKEEPER_")]:
        monkeypatch.delenv(name)  # the tests' own variables are no properties, and each would be a warning

    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr(sys, "argv", ["mqnamesrv", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            mqnamesrv.main()
        return exit_info.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_status_0(run, option):
    status, out, err = run(option)
    assert (status, err) == (0, "")
    assert out.startswith(USAGE)
    assert out.count("\n") == 5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-x"], "Unrecognized option: -x"),
        (["-c"], "Missing argument for option: c"),
        (["--listen-port", "1"], ""),
    ],
)
def test_a_bad_option_is_status_1(run, arguments, text):
    status, out, err = run(*arguments)
    assert status == 1
    assert out.startswith(USAGE)
    assert text in err


@pytest.mark.parametrize("option", ["-p", "--printConfigItem"])
def test_properties_are_printed_with_status_0(run, tmp_path, option):
    file = tmp_path / "namesrv.properties"
    file.write_text("listenPort=1234\ntheirs=x\n")
    status, out, _ = run("-c", str(file), option, "-n", "127.0.0.1:9876")
    assert status == 0
    assert "listenPort=1234\n" in out
    assert "theirs=x\n" in out
    assert "load config" not in out


@pytest.mark.parametrize("text", ["listenPort=70000", "enableControllerInNamesrv=true", "a=\\u12"])
def test_what_can_not_be_used_is_status_255_and_one_line(run, tmp_path, text):
    file = tmp_path / "namesrv.properties"
    file.write_text(text)
    status, out, err = run("-c", str(file))
    assert (status, out) == (255, "")
    assert err.startswith(f"namekeeper: {file}")
    assert err.count("\n") == 1


def test_a_missing_file_is_status_255(run, tmp_path):
    status, _, err = run("-c", str(tmp_path / "no"))
    assert status == 255
    assert "No such file" in err


def test_the_server_runs_without_a_home_of_rocketmq_and_says_so(run, monkeypatch, tmp_path):
    file = tmp_path / "namesrv.properties"
    file.write_text("rocketmqHome=/opt/rocketmq\n")
    started = []
    monkeypatch.setattr("namekeeper.app.run.run", lambda startup: started.append(startup) or 0)
    assert run()[0] == 0
    assert run("-c", str(file))[0] == 0
    monkeypatch.setenv("ROCKETMQ_HOME", "/opt/rocketmq")
    assert run("-n", "x")[0] == 0
    without, *with_home = started
    assert "ROCKETMQ_HOME is not set" in without.warnings[-1]
    for startup in with_home:
        assert startup.warnings == ()
        assert startup.settings.rocketmq_home == "/opt/rocketmq"
