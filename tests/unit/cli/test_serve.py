"""`namekeeper serve`: the same server, with every property as a flag."""

import pytest

from namekeeper.cli import serve
from namekeeper.config.property import PropertyKind, Spec
from namekeeper.config.settings import SPECS


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_every_property_is_a_flag_and_the_help_names_those_that_do_something(capsys):
    assert serve.main(["--help"]) == 0
    words = capsys.readouterr().out.split()
    for spec in SPECS.values():
        assert (spec.flag in words) is not spec.facts.inert


def test_every_flag_is_understood(monkeypatch):
    started = []
    monkeypatch.setattr("namekeeper.app.run.run", lambda startup: started.append(startup) or 0)
    for spec in SPECS.values():
        text = value_for(spec)
        assert serve.main([spec.flag, text]) == 0, spec.name
        assert str(getattr(started.pop().settings, spec.field)).lower() == text.lower(), spec.name


def value_for(spec: Spec) -> str:
    """A value of a property that can be given alone, and is not its default where that is possible."""
    number = min(max(2048, spec.facts.low), spec.facts.high)
    text = {PropertyKind.BOOLEAN: "true", PropertyKind.STRING: "10.0.0.1"}.get(spec.kind, str(number))
    text = spec.facts.choices[-1] if spec.facts.choices else text
    alone = {
        "enableControllerInNamesrv": "false", "bodyBytesInFlightLimit": "1000000000",
        "httpTlsNeedClientAuth": "none",
    }  # fmt: skip
    return alone.get(spec.name, text)


def test_properties_are_printed_and_warnings_go_to_stderr(home, capsys):
    file = home / "namesrv.properties"
    file.write_text("waitSecondsForService=x\n")
    assert serve.main(["--config-file", str(file), "--listen-port=1", "-p"]) == 0
    out, err = capsys.readouterr()
    assert "listenPort=1\n" in out
    assert err.startswith("WARN waitSecondsForService")


def test_a_bad_option_is_status_1_and_a_bad_value_255(capsys):
    assert serve.main(["--listen-por", "1"]) == 1
    assert serve.main(["--listen-port", "x"]) == 255
    assert capsys.readouterr().err.splitlines() == [
        "namekeeper: Unrecognized option: --listen-por (did you mean --listen-port?); see namekeeper serve --help",
        "namekeeper: listenPort=x: not a number",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["--listen-port", "\x1b[31m"],
        ["--no-such-\x1b[31m"],
        ["--config-file", "/no/\x1b[31m\nfile"],
        ["--address-server-list", "h:1;;\x9b31m", "-p"],
    ],
)
def test_what_is_printed_on_stderr_cannot_act_on_a_terminal(words, capsys):
    serve.main(words)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "31m" in lines[0]
    assert lines[0].isprintable()
