"""The script of an incident: a person finds each cause by the commands that it prints."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.waits

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "incident.py"
PATIENCE = 300


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """What the script says to ask, by the topic or the command."""
    folder = tmp_path_factory.mktemp("incident") / "it"
    done = subprocess.run(
        [sys.executable, SCRIPT, folder], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    lines = [line.strip() for line in done.stdout.splitlines() if line.startswith("    namekeeper ")]
    return {" ".join(line.split()[1:3]): shlex.split(line)[1:] for line in lines}


def said(words):
    command = [sys.executable, "-m", "namekeeper", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("orders", ["write permission", "wiped"]),
        ("payments", ["127.0.0.1:21031", "connection"]),
        ("shipments", ["broker-c lost its connection", "127.0.0.1:21051", "127.0.0.1:21061"]),
        ("refunds", ["deleted"]),
    ],
)
def test_why_and_history_name_the_cause_of_each_topic(commands, topic, words):
    why, history = (said(commands[f"{command} {topic}"]) for command in ("why", "history"))
    for word in words:
        assert word in why + history
    assert words[0] in why


def test_it_says_how_to_see_it_on_a_page_and_in_a_report(commands):
    assert {"console --journal", "pipeline run", "report incidents"} <= commands.keys()


def test_it_refuses_a_folder_with_something_in_it(tmp_path):
    (tmp_path / "mine").touch()
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)
