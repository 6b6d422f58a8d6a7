"""Java producers and consumers of any release, run as processes of their own."""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.java.artifacts import compiled
from tests.support.java.servers import QUICK_JVM, java_command, scratch_home
from tests.support.system.processes import Process, ProcessError, eventually, tail

__all__ = ["Admins", "JavaClient", "SteadyClient", "numbers"]

Event = dict[str, Any]
Queue = tuple[str, int]


@dataclass(frozen=True, slots=True)
class JavaClient:
    """A Java client of one release with one list of name servers; each call is a process."""

    version: str
    namesrv_addrs: str
    jvm: Sequence[str] = ()
    tools_yml: str = ""
    """Content of mqadmin's file of credentials, if there is to be one."""

    def produce(self, topic: str, count: int) -> list[Event]:
        """Send messages 0, 1 ... and return where they went."""
        return self._run("produce", topic, str(count))

    def produce_ordered(self, topic: str, count: int, keys: int) -> list[Event]:
        """Send messages with keys; a key always goes to the same queue."""
        return self._run("ordered", topic, str(count), str(keys))

    def consume(self, topic: str, group: str, count: int, *, orderly: bool = False) -> list[Event]:
        """Receive so many messages, from the first one on."""
        return self._run("inorder" if orderly else "consume", topic, group, str(count))

    def exchange(self, topic: str, group: str, count: int) -> list[Event]:
        """Send messages, then receive as many, in one process."""
        return self._run("exchange", topic, group, str(count))

    def queues(self, topic: str) -> tuple[list[Queue], list[Queue]]:
        """Return the queues (broker name, id) to publish to and those to consume from."""
        (found,) = self._run("queues", topic)
        return [(name, number) for name, number in found["publish"]], [
            (name, number) for name, number in found["subscribe"]
        ]

    def admin(self, *commands: str) -> list[str]:
        """Run sub-commands of this release's mqadmin in one process and return what each one printed.

        Neither its exit status nor a stack trace says that it failed: assert what it should have printed or done.
        """
        words = " , ".join(commands).split()
        done = self._process("admin", *words)
        return re.split(r"^,\n", done.stdout, flags=re.MULTILINE)

    def admin_failure(self, command: str) -> str:
        """Run a sub-command of this release's mqadmin, and return all that it printed, stack traces too."""
        done = self._process("admin", *command.split())
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def admins(self) -> Iterator["Admins"]:
        """mqadmin in a process that stays: it asks many times, and any name server, without a new start."""
        with self._command("admins", "-", "-") as (line, home), (home / "errors.txt").open("wb") as errors:
            child = subprocess.Popen(
                line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=home
            )  # fmt: skip
            try:
                yield Admins(child, home / "errors.txt")
            finally:
                child.kill()
                child.communicate()

    def _run(self, command: str, *args: str) -> list[Event]:
        return [
            json.loads(line)
            for line in self._process(command, *args).stdout.splitlines()
            if line.startswith("{")
        ]

    @contextlib.contextmanager
    def steady(self, topic: str, group: str, looked: str, output: Path) -> Iterator["SteadyClient"]:
        """A producer and a consumer that work on, and a look-up of another topic again and again."""
        label = f"Java client {self.version}, steady"
        with (
            self._command("steady", topic, group, looked) as (line, home),
            Process(label, line, output=output, logs=home, cwd=home) as process,
        ):
            yield SteadyClient(process)

    def _process(self, command: str, *args: str) -> subprocess.CompletedProcess[str]:
        with self._command(command, *args) as (line, home):
            done = subprocess.run(
                line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False, cwd=home
            )  # fmt: skip
            if done.returncode:
                logs = "\n".join(tail(log) for log in home.rglob("*.log"))
                what = f"Java client {self.version}, {command}: {done.returncode}"
                raise ProcessError(f"{what}\n{done.stdout}{done.stderr}{logs}")
        return done

    @contextlib.contextmanager
    def _command(self, command: str, *args: str) -> Iterator[tuple[list[str], Path]]:
        """The command line, and the folder to run it in."""
        path, archive = compiled(self.version)
        made = archive.with_suffix(f".{os.getpid()}")
        sharing = (
            f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={made}"
        )
        jvm = (*QUICK_JVM, "-Xlog:disable", sharing, *self.jvm)
        with scratch_home(self.version) as home:
            if self.tools_yml:
                (home / "conf" / "tools.yml").write_text(self.tools_yml)
            yield (
                java_command(
                    self.version, home, "Peer", command, self.namesrv_addrs, *args, jvm=jvm, path=path
                ),
                home,
            )
            if made.exists():
                made.rename(archive)


class Admins:
    """An mqadmin that waits for commands."""

    def __init__(self, child: subprocess.Popen[str], errors: Path) -> None:
        self._child = child
        self._errors = errors

    def run(self, namesrv: str, *commands: str) -> list[str]:
        """Run sub-commands against a name server, one after the other, and return what each one printed.

        Raises:
            ProcessError: The process ended.
        """
        return [self.ask(namesrv, *command.split()) for command in commands]

    def ask(self, namesrv: str, *words: str) -> str:
        """Run one sub-command, whose words may have blanks, and return what it printed."""
        given, printed = self._child.stdin, self._child.stdout
        assert given is not None
        assert printed is not None
        given.write("\t".join((namesrv, *words)) + "\n")
        given.flush()
        lines: list[str] = []
        while (line := printed.readline()) != ",\n":
            if not line:
                raise ProcessError(f"mqadmin ended at {words}:\n{''.join(lines)}{tail(self._errors)}")
            lines.append(line)
        return "".join(lines)


class SteadyClient:
    """What a client that works on has printed so far."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def events(self) -> list[Event]:
        """All of them; its last line may be under way."""
        lines = self._process.text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}\n")]

    def logs(self, text: str) -> None:
        """Wait until its log files have a text."""
        files = self._process.logs
        assert files is not None
        eventually(
            lambda: any(text in log.read_text(errors="replace") for log in files.rglob("*.log")),
            within=120,
            what=f"{text!r} in its log",
        )

    def wait(self, more: int) -> None:
        """Wait until it has sent, received and looked up so many times more.

        Raises:
            ProcessError: It ended.
        """
        wanted = {kind: count + more for kind, count in self._counts().items()}

        def is_reached() -> bool:
            if self._process.returncode is not None:
                raise ProcessError(self._process.report())
            counts = self._counts()
            return all(counts[kind] >= count for kind, count in wanted.items())

        eventually(is_reached, within=120, what=f"{wanted}")

    def _counts(self) -> dict[str, int]:
        events = self.events()
        return {kind: len(numbers(events, kind)) for kind in ("sent", "received", "looked")}


def numbers(events: Sequence[Event], event: str) -> list[int]:
    """Return the numbers of the messages that were sent, or received, in that order."""
    return [row["number"] for row in events if row["event"] == event]
