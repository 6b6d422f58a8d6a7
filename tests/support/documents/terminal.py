"""A terminal in which a document is typed line by line, and its lines: what is typed, and what it shows below."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.system.processes import eventually

__all__ = ["Terminal", "Typed", "typed_lines"]

_PROGRAMS = (
    "namekeeper",
    "mqadmin",
    "mqshutdown",
    "python",
    "curl",
    "cat",
    "tail",
    "kill",
    "export",
    "make",
    "source",
)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_ENDED_JOB = re.compile(r"^bash: line \d+: +\d+ Terminated .*\n", re.MULTILINE)


class Typed(NamedTuple):
    """A line that the reader types, and the lines that the document shows right below it."""

    line: str
    shown: Sequence[str]


def typed_lines(text: str) -> Iterator[Typed]:
    """What a document has its reader type, in order: indented lines that begin with a program."""
    line = ""
    shown: list[str] = []
    for each in _CODE.sub("", text).splitlines():
        inside = each.strip()
        is_code = each.startswith("    ")
        is_typed = is_code and inside.startswith(tuple(f"{program} " for program in _PROGRAMS))
        if line and (is_typed or (inside and not is_code)):
            yield Typed(line, shown)
            line = ""
        if is_typed:
            line, shown = inside, []
        elif is_code:
            shown.append(inside)
    if line:
        yield Typed(line, shown)


class Terminal:
    """A shell that keeps its variables and jobs from one line to the next."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._output = folder / "terminal.txt"
        self._read = 0
        with self._output.open("wb") as sink:
            self._shell = Popen(
                ["bash"], stdin=PIPE, stdout=sink, stderr=STDOUT, env=env, cwd=folder, text=True
            )

    def types(self, line: str) -> tuple[int, str]:
        """Type a line and wait for its end; its status, and what it printed, with what jobs printed meanwhile."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(f'{line}\nprintf "\\nend of line $?\\n"\n')
        self._shell.stdin.flush()
        ended = eventually(self._ended, within=60, what=f"the end of {line!r}")
        text = self.text()
        self._read += ended.end()
        return int(ended[1]), _ENDED_JOB.sub("", text[: ended.start()])

    def text(self) -> str:
        """What was printed since the last line ended."""
        return self._output.read_text()[self._read :]

    def _ended(self) -> re.Match[str] | None:
        return re.search(r"\nend of line (\d+)\n", self.text())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write("kill $(jobs -p) 2>/dev/null\n")
        self._shell.stdin.close()
        self._shell.wait()
        if error is not None:
            print(f"--- terminal\n{self._output.read_text()}")
