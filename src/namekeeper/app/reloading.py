"""What a running name server reads again on SIGHUP: log files by their names, and the properties file.

Access rules and certificates are watched anyway, so they need no signal.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from namekeeper.app.logs import Logs
from namekeeper.config.startup import Startup
from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, read_if_exists
from namekeeper.processor.settings import reread_config
from namekeeper.processor.state import NameServerState
from namekeeper.route.events import Change

__all__ = ["Reloading"]

log = logging.getLogger("namekeeper.namesrv")


class Reloading:
    """Reloads when `start` is called; calls while it reloads are answered by one more round.

    Args:
        startup: names the properties file, and what flags and the environment override.
        state: gets the changed settings.
        logs: the running log.
        apply: carries out what follows from a change.
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
        """Wait until what was started is done."""
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
        data = await asyncio.to_thread(partial(read_if_exists, path, limit=SMALL_FILE_BYTES))
        if not data:
            raise ConfigError(f"{path} is missing or empty")
        change, waiting = reread_config(self._state, data, source=path, given=self._startup.given)
        if waiting:
            names = ", ".join(waiting)
            log.warning("SIGHUP: %s: these changes have no effect before the next start: %s", path, names)
        if change.events:
            self._apply(change)
            log.info("SIGHUP: %s: changed properties are in effect", path)
