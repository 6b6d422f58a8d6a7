"""The load generator and the bare C responder: built with cc, run, and their JSON read."""

import json
import math
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.load.errors import GeneratorError

__all__ = ["Generator", "Running"]

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / "bench"
FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")
SOURCES = {"loadgen": ("loadgen.c", "lookups.c", "register.c"), "bare_responder": ("bare_responder.c",)}
GRACE_SECONDS = 300  # on top of the time a run asks for itself


class Running:
    """A generator at work in the background."""

    def __init__(self, command: list[str], seconds: float) -> None:
        self._seconds = seconds + GRACE_SECONDS
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def first_line(self) -> dict[str, Any]:
        """Wait for the result of a generator that holds its connections after it."""
        assert self._child.stdout is not None
        return self._parsed(self._child.stdout.readline())

    def stop_measuring(self) -> None:
        """Tell a look-up load that enough was measured."""
        self._child.terminate()

    def result(self) -> dict[str, Any]:
        """Let it end and return what it found."""
        return self._parsed(self._ended())

    def release(self) -> None:
        """Let a generator end that holds its connections."""
        self._ended()

    def _ended(self) -> str:
        try:
            return self._child.communicate(timeout=self._seconds)[0]
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()
            raise GeneratorError(f"no end after {self._seconds:.0f} s") from None

    def _parsed(self, line: str) -> dict[str, Any]:
        try:
            return {k: math.inf if v is None else v for k, v in json.loads(line).items()}
        except json.JSONDecodeError:
            raise GeneratorError(f"the load generator said {line!r}") from None


class Generator:
    """The built programs; building is skipped while they are newer than their sources."""

    def __init__(self) -> None:
        self.loadgen = _built("loadgen")
        self.responder = _built("bare_responder")

    def lookups(self, port: int, *, seconds: float, **options: float | str) -> Running:
        """Start look-ups; options are those of loadgen.h."""
        return self._run("lookups", {"port": port, "seconds": seconds, **options}, seconds)

    def register(self, port: int, frames: Path, *, timeout: float) -> Running:
        """Send every frame of a file at once; connections are held until it is released."""
        return self._run(
            "register", {"port": port, "frames": str(frames), "timeout": timeout, "hold": ""}, timeout
        )

    def _run(self, mode: str, options: Mapping[str, float | str], seconds: float) -> Running:
        command = [str(self.loadgen), mode]
        for name, value in options.items():
            command.append(f"--{name.replace('_', '-')}")
            if value != "":
                command.append(str(value))
        return Running(command, seconds)


def _built(program: str) -> Path:
    """Compile a program if it is missing or older than a source; needs a C compiler."""
    sources = [HERE / name for name in SOURCES[program]]
    target = FOLDER / program
    newest = max(path.stat().st_mtime for path in [*sources, *HERE.glob("*.h")])
    if target.exists() and target.stat().st_mtime >= newest:
        return target
    if (compiler := shutil.which("cc")) is None:
        raise GeneratorError("make bench needs a C compiler (cc)")
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [compiler, *FLAGS, "-o", str(target), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GeneratorError(f"{' '.join(command)}\n{done.stderr}")
    return target
