"""The end of the demo where somebody watches: the console over its journals."""

import io
import os
import signal
import subprocess
import sys
import urllib.request
from types import SimpleNamespace

import pytest
from rich.console import Console

from namekeeper.cli.demo import command
from namekeeper.cli.demo.show import Stage
from namekeeper.errors import NamekeeperError
from tests.unit.answers.story import Story


@pytest.fixture
def incident(tmp_path):
    story = Story("ns-1")
    story.registers()
    servers = [SimpleNamespace(journal=story.folder(tmp_path / "journal"))]
    return SimpleNamespace(servers=servers, times=SimpleNamespace(wiped_ms=story.now))


@pytest.mark.parametrize("is_opened", [True, False])
def test_the_browser_is_opened_at_the_incident_and_the_console_ends_with_the_demo(
    incident, monkeypatch, is_opened
):
    opened = []
    started = []
    make = subprocess.Popen

    def popen(*words, **settings):
        started.append(make(*words, **settings))
        return started[-1]

    def browser(address):
        """Somebody looks, and ends it."""
        with urllib.request.urlopen(address, timeout=60) as answer:
            opened.append((address, answer.status))
        started[0].send_signal(signal.SIGINT)
        return is_opened

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(command.webbrowser, "open", browser)
    text = io.StringIO()
    command.show_console(Stage(Console(file=text, highlight=False)), incident)
    ((address, status),) = opened
    assert address.endswith(f"/?at={incident.times.wiped_ms}")
    assert status == 200
    assert "Ctrl-C ends it" in text.getvalue()
    assert ("no browser could be opened" in text.getvalue()) is not is_opened
    assert started[0].returncode == 0


def test_a_console_that_does_not_start_is_told(incident):
    incident.servers[0].journal = "/nowhere"
    with pytest.raises(NamekeeperError, match="did not start"):
        command.show_console(Stage(Console(file=io.StringIO())), incident)


@pytest.mark.parametrize(
    ("option", "variables", "is_terminal", "expected"),
    [
        (None, {"DISPLAY": ":0"}, True, True),
        (None, {"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        (None, {}, True, False),
        (None, {"DISPLAY": ":0"}, False, False),
        (None, {"DISPLAY": ":0", "CI": "true"}, True, False),
        (True, {}, False, True),
        (False, {"DISPLAY": ":0"}, True, False),
    ],
)
def test_it_is_for_who_has_a_terminal_and_a_display(monkeypatch, option, variables, is_terminal, expected):
    for name in ("CI", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setitem(os.environ, name, value)
    monkeypatch.setattr(sys, "platform", "linux")
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(sys, stream, SimpleNamespace(isatty=lambda: is_terminal))
    assert command._is_wanted(option) is expected
