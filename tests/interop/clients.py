"""Java producers and consumers of any release, run as processes of their own."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.java.artifacts import compiled
from tests.support.java.servers import QUICK_JVM, java_command, scratch_home
from tests.support.system.processes import ProcessError, tail

__all__ = ["JavaClient", "numbers"]

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

    def _run(self, command: str, *args: str) -> list[Event]:
        return [
            json.loads(line)
            for line in self._process(command, *args).stdout.splitlines()
            if line.startswith("{")
        ]

    def _process(self, command: str, *args: str) -> subprocess.CompletedProcess[str]:
        path, archive = compiled(self.version)
        made = archive.with_suffix(f".{os.getpid()}")
        sharing = (
            f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={made}"
        )
        jvm = (*QUICK_JVM, "-Xlog:disable", sharing, *self.jvm)
        with scratch_home(self.version) as home:
            if self.tools_yml:
                (home / "conf" / "tools.yml").write_text(self.tools_yml)
            line = java_command(
                self.version, home, "Peer", command, self.namesrv_addrs, *args, jvm=jvm, path=path
            )
            done = subprocess.run(
                line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False, cwd=home
            )  # fmt: skip
            if made.exists():
                made.rename(archive)
            if done.returncode:
                logs = "\n".join(tail(log) for log in home.rglob("*.log"))
                what = f"Java client {self.version}, {command}: {done.returncode}"
                raise ProcessError(f"{what}\n{done.stdout}{done.stderr}{logs}")
        return done


def numbers(events: Sequence[Event], event: str) -> list[int]:
    """Return the numbers of the messages that were sent, or received, in that order."""
    return [row["number"] for row in events if row["event"] == event]
