"""The commands that a document has its reader type, and somebody who types them."""

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from namekeeper.cli.mqadmin import admin
from tests.support.system.waiting import PATIENCE

_PROGRAMS = {"mqadmin": admin, "namekeeper": namekeeper}

__all__ = ["Typist", "commands_of"]

_COMMAND = re.compile(r"^(?: {4,}|\$ )((?:namekeeper|mqadmin|mqnamesrv|mqshutdown) .*)$", re.MULTILINE)


def commands_of(text: str) -> list[str]:
    """The lines of a document that call a program of ours, in order: indented, or behind `$`."""
    return _COMMAND.findall(text)


class Typist:
    """Types commands as a document has them, with the places and times of this run instead of those in it.

    Args:
        env: the environment.
        home: the folder in which they are typed.
        instead: what stands in the document -> what is typed; whole words, or a beginning of one.
    """

    def __init__(self, env: Mapping[str, str], home: Path, instead: Mapping[str, str]) -> None:
        self._env, self.home, self._instead = env, home, instead

    def words_of(self, command: str) -> list[str]:
        """What is typed, up to a pipe."""
        words = shlex.split(command, comments=True)
        if "|" in words:
            words = words[: words.index("|")]
        return [self._word(word) for word in words]

    def types(self, command: str, *, within: float = 60) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        program, *words = self.words_of(command)
        return self.runs(program, words, within=within)

    def types_in_process(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end without a process, in the folder of this one."""
        program, *words = self.words_of(command)
        done = CliRunner().invoke(_PROGRAMS[program], words, env=self._env)
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    def runs(
        self, program: str, words: Sequence[str], *, within: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of ours to its end."""
        return subprocess.run(
            [str(Path(sys.executable).parent / program), *words],
            capture_output=True, text=True, env=self._env, cwd=self.home, timeout=within * PATIENCE, check=False,
        )  # fmt: skip

    def _word(self, word: str) -> str:
        for there, here in self._instead.items():
            if word == there or word.startswith(f"{there}/"):
                return here + word[len(there) :]
        return word
