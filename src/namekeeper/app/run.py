"""Run a name server as a process: start logs and pid file, print the boot line, stop on a signal."""

import asyncio
import contextlib
import faulthandler
import logging
import sys

from namekeeper.app.logs import Logs, start_logs
from namekeeper.app.memory import return_freed_memory
from namekeeper.app.name_server import NameServer
from namekeeper.app.pid_file import PidFile, hold_pid_file
from namekeeper.app.process import loop_factory, prepare_process, spare_the_collector
from namekeeper.app.reloading import Reloading
from namekeeper.app.stop_signals import stopping_by_signals
from namekeeper.config.startup import Startup, boot_line
from namekeeper.files import problem_with

__all__ = ["run"]

log = logging.getLogger("namekeeper.namesrv")

SETTLED_SECONDS = 1.0
"""After the start: by then clients and brokers have been answered."""


def run(startup: Startup) -> int:
    """Run a name server until a signal stops it; returns the exit status. SIGHUP reloads files.

    Raises:
        ConfigError: it can't start; one line that says what to do.
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
    """End the process after this time with status 1, whatever it does; stacks of its threads go to stderr."""
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
