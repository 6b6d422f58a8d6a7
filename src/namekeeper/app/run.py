"""Run a name server as a process: logs, pid file, boot line, reloading on SIGHUP, stop on a signal."""

import asyncio
import contextlib
import faulthandler
import logging
import sys
from collections.abc import Callable

from namekeeper.app.logs import Logs, start_logs
from namekeeper.app.memory import return_freed_memory
from namekeeper.app.name_server import NameServer
from namekeeper.app.pid_file import PidFile, hold_pid_file
from namekeeper.app.process import loop_factory, prepare_process, spare_the_collector
from namekeeper.app.stop_signals import stopping_by_signals
from namekeeper.config.runtime import read_lines
from namekeeper.config.startup import Startup, boot_line
from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, problem_with, read_if_exists
from namekeeper.processor.settings import reread_config
from namekeeper.processor.state import NameServerState
from namekeeper.route.events import Change

__all__ = ["Reloading", "run"]

log = logging.getLogger("namekeeper.namesrv")

SETTLED_SECONDS = 1.0
"""Time after the start: by then clients and brokers have their answers."""


def run(startup: Startup) -> int:
    """Run a name server until a signal stops it; return the exit status. SIGHUP reloads files.

    Raises:
        ConfigError: it can't start; one line that names the remedy.
    """
    prepare_process()
    logs = start_logs(startup.settings.log_root, startup.settings.log_level)
    pid_file = _pid_file(startup.settings.log_root)
    try:
        for warning in startup.warnings:
            log.warning("%s", warning)
        server = NameServer(startup, logs=logs)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_serve(server, startup, logs))
    finally:
        if pid_file is not None:
            pid_file.release()
        logs.stop()


async def _serve(server: NameServer, startup: Startup, logs: Logs) -> int:
    stop = asyncio.Event()
    reloading = Reloading(startup, server.state, logs=logs, apply=server.effects.apply)
    with stopping_by_signals(stop.set, reload=reloading.start):
        async with server:
            line = boot_line(server.state.settings, server.port)
            _say(line)
            log.info("%s", line)
            spare_the_collector()
            # The first clients do not wait for it.
            asyncio.get_running_loop().call_later(SETTLED_SECONDS, return_freed_memory)
            await stop.wait()
            log.info("the name server stops")
            _end_at_the_latest_in(server.stuck_seconds)
    return 0 if server.is_recorded else 1


def _end_at_the_latest_in(seconds: float) -> None:
    """End the process after this time with status 1 in any case; stacks of its threads go to stderr."""
    with contextlib.suppress(RuntimeError, OSError, AttributeError):  # no stderr
        faulthandler.dump_traceback_later(seconds, exit=True)


def _say(line: str) -> None:
    """Print the line that scripts wait for; if stdout fails, as on a full disk, go on."""
    try:
        print(line, flush=True)  # noqa: T201
    except OSError as error:
        log.warning("can't print to stdout: %s", error)
        sys.stdout = None  # else Python tries again at the end, and exits with a failure


def _pid_file(log_root: str) -> PidFile | None:
    try:
        return hold_pid_file(log_root)
    except OSError as error:
        log.warning(
            "no pid file in %s, so mqshutdown won't find this process: %s", log_root,
            problem_with(log_root, error),
        )  # fmt: skip
        return None


def _lines_of(path: str) -> dict[str, str]:
    data = read_if_exists(path, limit=SMALL_FILE_BYTES)
    if not data:
        raise ConfigError(f"{path} is missing or empty")
    return read_lines(data, source=path)


class Reloading:
    """Reads log files by their names and the properties file again when `start` is called.

    A call during a reload causes one more round. Access rules and certificates are watched anyway.

    Args:
        startup: names the properties file, and the properties that flags and the environment override.
        state: gets the changed settings.
        logs: the running log.
        apply: carries out the effects of a change.
    """

    def __init__(
        self, startup: Startup, state: NameServerState, *, logs: Logs, apply: Callable[[Change], None]
    ) -> None:
        self._startup = startup
        self._state = state
        self._logs = logs
        self._apply = apply
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False

    def start(self) -> None:
        """Reload in a task of the running loop."""
        self._is_wanted = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._reload(), name="reloading")

    async def finish(self) -> None:
        """Wait until the started reload is done."""
        if self._task is not None:
            await self._task

    async def _reload(self) -> None:
        while self._is_wanted:
            self._is_wanted = False
            self._logs.reopen()
            log.info("SIGHUP: the log files were opened again")
            try:
                await self._reload_properties()
            except (ConfigError, OSError) as error:
                log.error("SIGHUP: the properties stay as they were: %s", error)  # noqa: TRY400 - no bug

    async def _reload_properties(self) -> None:
        path = self._startup.config_file
        if path is None:
            return
        found = await asyncio.to_thread(_lines_of, path)
        change, waiting = reread_config(self._state, found, source=path, given=self._startup.given)
        if waiting:
            names = ", ".join(waiting)
            log.warning("SIGHUP: %s: these changes have no effect before the next start: %s", path, names)
        if change.events:
            self._apply(change)
            log.info("SIGHUP: %s: changed properties are in effect", path)
