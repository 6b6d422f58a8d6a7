"""The shadow: a name server of ours beside observed ones, as a process of its own that ends with this one."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from namekeeper.common.shadow_names import shadow_id
from namekeeper.journal.settings import DAY_MS
from namekeeper.observe.config import ObservedCluster, Observing, ShadowSettings

__all__ = ["ShadowServer", "serve_words"]

log = logging.getLogger("namekeeper.observe")

AGAIN_SECONDS = 1.0, 60.0
"""Pause before it is started again: at first, and at most."""
LASTING_SECONDS = 60.0
"""After so much time the next pause is the first one again."""
STOP_SECONDS = 10.0
"""Time in which it ends in order."""
LINE_BYTES = 16 * 1024
"""Longest line of its output that is read."""
MIB, LONGEST_DAYS = 1 << 20, 36_500
"""Limits of the properties for the size and the age of the journal."""
BOOT_LINE = "The Name Server boot success."


def serve_words(observing: Observing, cluster: ObservedCluster, settings: ShadowSettings) -> Sequence[str]:
    """The words of the command that runs the shadow of a cluster.

    All that it writes is below the folder of the journals, whatever its properties say: they may be those of
    a name server on the same host. It leaves the operators' port to that one.
    """
    id_ = shadow_id(cluster.label)
    files = Path(observing.journal) / f"{id_}-files"
    limits = observing.limits
    flags = {
        "listen-port": str(settings.port),
        "journal-path": str(Path(observing.journal) / id_),
        "journal-namesrv-id": id_,
        "journal-retention-bytes": str(max(limits.max_bytes, MIB)),
        "journal-retention-days": str(min(max(limits.max_age_ms // DAY_MS, 1), LONGEST_DAYS)),
        "cluster-label": cluster.label,
        "kv-config-path": str(files / "kvConfig.json"),
        "config-store-path": str(files / "namesrv.properties"),
        "log-root": str(files / "logs"),
        "http-port": "-1",
    }
    config = ["-c", settings.config_file] if settings.config_file else []
    return [
        sys.executable, "-m", "namekeeper", "serve", *config,
        *(word for name, value in flags.items() for word in (f"--{name}", value)),
        "--journal-enable=true", "--until-eof",
    ]  # fmt: skip


class ShadowServer:
    """Runs the shadow of one cluster, and starts it again if it ends; `run` goes on until it is cancelled.

    Args:
        id_: of the shadow.
        words: of its command, which ends at the end of its input.
        announce: prints a line.
    """

    def __init__(self, id_: str, words: Sequence[str], announce: Callable[[str], object]) -> None:
        self.id = id_
        self._words, self._announce = words, announce
        self.problem = "it starts"
        """Why it does not serve; empty: it does."""
        self.address = ""
        """Where it listens; empty: it does not."""

    async def run(self) -> None:
        """Keep it running until cancelled; then end it."""
        loop = asyncio.get_running_loop()
        pause, longest = AGAIN_SECONDS
        while True:
            began = loop.time()
            try:
                self.problem = await self._run_once()
            except Exception:
                log.exception("a bug in what runs the shadow")
                self.problem = "a bug: the log says more"
            self.address = ""
            if loop.time() - began > LASTING_SECONDS:
                pause = AGAIN_SECONDS[0]
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)

    async def _run_once(self) -> str:
        """Run it until it ends; returns why it did."""
        pipe = asyncio.subprocess.PIPE
        try:
            child = await asyncio.create_subprocess_exec(
                *self._words, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT, limit=LINE_BYTES
            )
        except OSError as error:
            problem = f"it does not start: {error.strerror or error}"
            self._announce(f"{self.id}: {problem}")
            return problem
        try:
            last = await self._read(child)
            status = await child.wait()
        finally:
            await _ended(child)
        problem = f"it ended with status {status}"
        self._announce(f"{self.id}: {problem}")
        return f"{problem}: {last}" if last else problem

    async def _read(self, child: asyncio.subprocess.Process) -> str:
        """Read its output to the end, and print what it says; returns the last line."""
        assert child.stdout is not None
        last = ""
        while True:
            try:
                data = await child.stdout.readline()
            except ValueError:  # a line without end; the part of it that was read is dropped
                continue
            if not data:
                return last
            last = data.decode(errors="replace").strip()
            if last.startswith(BOOT_LINE):
                self.problem, self.address, last = "", last.rpartition(" ")[2], ""
                self._announce(f"{self.id}: it listens at {self.address}")
            elif last:
                self._announce(f"{self.id}: {last}")


async def _ended(child: asyncio.subprocess.Process) -> None:
    """End a child, if it has not ended yet."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await child.wait()
    except TimeoutError:
        log.warning("observe: the shadow (process %d) does not end, and is killed", child.pid)
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
