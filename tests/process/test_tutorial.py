"""The tutorial works as it is written: whoever types it line by line sees what it shows."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.process.running import BIN, environment
from tests.support.documents.shapes import shows
from tests.support.documents.terminal import Terminal, Typed, typed_lines
from tests.support.server.front import FRONT_UNDER_TEST
from tests.support.system.processes import Process, eventually, free_port
from tests.support.system.waiting import PATIENCE

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
TEXT = TUTORIAL.read_text()
STATUS = {"differ in": 1, "refused": 2}
"""What a command shows -> its status; any other is 0."""


class Reader:
    """Types the tutorial, with the ports of this run instead of those in it."""

    def __init__(self, home: Path, opened: ExitStack) -> None:
        self._home = home
        self._opened = opened
        self._env = {**environment(home), "PATH": f"{BIN}:{os.environ['PATH']}"}
        self._ports = {port: str(free_port()) for port in ("9876", "9877", "9886", "9887", "9888")}
        self._terminal = opened.enter_context(Terminal(home, self._env))
        (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
        (home / "broker.py").write_text(self.here(code))
        self.consoles: list[str] = []
        """Addresses of the pages that were started."""

    def here(self, text: str) -> str:
        return re.sub(r"\b98[78][678]\b", lambda port: self._ports[port[0]], text)

    def types(self, typed: Typed) -> None:
        """Type one line, and look at what it shows."""
        line = self.here(typed.line)
        if line.startswith("namekeeper serve"):
            self._starts(line, r"The Name Server boot success\. serializeType=JSON, address \S+:\d+\n")
        elif line.startswith("namekeeper console"):
            process = self._starts(line, typed.shown[0])
            self.consoles.append(re.findall(r"http://\S+/", process.text())[0])
        elif line.endswith(" &"):
            self._terminal.types(line)
            eventually(lambda: shows(typed.shown, self._terminal.text()), within=5, what=f"{typed}")
        elif line.startswith("mqshutdown") or not typed.shown:
            status, printed = self._terminal.types(line)
            assert status == 0, printed
            assert not typed.shown or shows(typed.shown, printed), printed
        else:
            eventually(lambda: self._sees(line, typed.shown), within=5, what=f"{typed}")

    def _sees(self, line: str, shown: list[str]) -> bool:
        """Whether a question has the answer that is shown: what was done before may need a moment."""
        status, printed = self._terminal.types(line)
        wanted = next((status for words, status in STATUS.items() if words in "\n".join(shown)), 0)
        # Look-ups without a route are recorded at the end of their minute: perhaps it has come.
        lines = [each for each in printed.splitlines() if "without a route" not in each]
        assert (status, shows(shown, "\n".join(lines))) == (wanted, True), printed
        return True

    def _starts(self, line: str, says: str) -> Process:
        """In a terminal of its own."""
        program, *words = line.split()
        if words[0] == "serve":
            own = {"--bind-address": "127.0.0.1", "--front": FRONT_UNDER_TEST, "--tls-config-file": "",
                   "--listen-port": self._ports["9876"], "--http-port": self._ports["9886"]}  # fmt: skip
            words += [word for flag, text in own.items() if flag not in words for word in (flag, text)]
        else:
            words += ["--port", self._ports["9888"]]
        output = self._home / f"{words[0]}-{len(list(self._home.iterdir()))}.txt"
        process = Process(
            program, [str(BIN / program), *words], output=output, env=self._env, cwd=self._home
        )  # fmt: skip
        self._opened.enter_context(process)
        process.await_line(self.here(says))
        return process


def after_set_up(text: str) -> Iterator[Typed]:
    """All but what makes the environment, which the tests run in."""
    for typed in typed_lines(text):
        if not typed.line.startswith(("make ", "source ")):
            yield typed


def test_whoever_types_it_sees_what_it_shows(tmp_path):
    with ExitStack() as opened:
        reader = Reader(tmp_path, opened)
        typed = list(after_set_up(TEXT))
        assert len(typed) >= 25
        for each in typed:
            reader.types(each)
            if each.line.startswith("namekeeper console"):
                with urlopen(f"{reader.consoles[0]}api/why?name=orders", timeout=30 * PATIENCE) as answer:
                    explanations = json.load(answer)["explanations"]
                assert [each["verdict"] for each in explanations] == ["broker_gone"] * 2


def test_the_pages_that_it_names_are_there():
    for page in re.findall(r"\]\(([\w/-]+\.md)\)", TEXT):
        assert (TUTORIAL.parent / page).exists(), page


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("    cat a\n\n    x\n      y\n\nText.\n    not shown by it\n", [("cat a", ["x", "y"])]),
        ("    cat a\n    cat b\n    z\n", [("cat a", []), ("cat b", ["z"])]),
        ("    category\n```\n    cat a\n```\n    cat b", [("cat b", [])]),
    ],
)
def test_a_line_shows_what_stands_right_below_it(text, found):
    typed = [(each.line, [line for line in each.shown if line]) for each in typed_lines(text)]
    assert typed == found
