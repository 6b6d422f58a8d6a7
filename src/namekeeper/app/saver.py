"""Writes the KV file and the properties file off the loop, before the change is answered.

A change that the disk refused is in effect, so its file is tried again: at intervals, and when the server
stops.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from namekeeper.files import atomic_replace, problem_with
from namekeeper.processor.outcome import Save
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import Response

__all__ = ["SavedFile", "Saver"]

log = logging.getLogger("namekeeper.files")

RETRY_SECONDS = 1.0
"""Interval of the tries to write what the disk refused, as for the journal."""

Saved = Callable[["Response | None"], None]
"""Called with None when the file has the change, or with the answer that reports the failure."""


class SavedFile:
    """One file with the text of a state; changes made while it is being written share the next write."""

    def __init__(
        self,
        path: str,
        text: Callable[[], bytes],
        *,
        executor: Executor,
        call_soon_threadsafe: Callable[..., object],
    ) -> None:
        self._path = path
        self._text = text
        self._executor = executor
        self._call_soon_threadsafe = call_soon_threadsafe
        self._log_limit = LogLimit(log)
        self._waiting: list[Saved] = []
        self._is_settled = asyncio.Event()
        self._is_settled.set()
        self._trouble = ""
        """Why the newest attempt to write failed; empty if it did not."""

    @property
    def has_failed(self) -> bool:
        """Whether the newest attempt to write failed."""
        return bool(self._trouble)

    def save(self, saved: Saved) -> None:
        """Write the state as it is now, or newer; then call `saved`."""
        self._waiting.append(saved)
        if self._is_settled.is_set():
            self._write()

    def retry(self) -> None:
        """Write the state if the newest attempt failed."""
        if self.has_failed and self._is_settled.is_set():
            self._write()

    async def finish(self) -> None:
        """Wait until the file has every change, or can't be written: what failed is tried once more."""
        await self._is_settled.wait()
        self.retry()
        await self._is_settled.wait()

    def _write(self) -> None:
        self._is_settled.clear()
        waiting, self._waiting = self._waiting, []

        def attempt(step: Callable[[], object]) -> None:
            try:
                step()
            except Exception as error:  # noqa: BLE001 - on any error, the waiting requester gets the answer
                self._call_soon_threadsafe(self._written, waiting, error)

        def write(data: bytes) -> None:
            atomic_replace(self._path, data)
            self._call_soon_threadsafe(self._written, waiting, None)

        attempt(lambda: self._executor.submit(attempt, partial(write, self._text())))

    def _written(self, waiting: list[Saved], failure: Exception | None) -> None:
        answer = None if failure is None else self._failed(failure, is_retry=not waiting)
        if failure is None and self._trouble:
            self._trouble = ""
            log.info("%s is written again: it has every change", self._path)
        for saved in waiting:
            saved(answer)
        if self._waiting:
            self._write()
        else:
            self._is_settled.set()

    def _failed(self, failure: Exception, *, is_retry: bool) -> Response:
        """Note a failure, and log it; that of a retry only if it has another reason than before."""
        why = problem_with(self._path, failure) if isinstance(failure, OSError) else str(failure)
        before, self._trouble = self._trouble, why or repr(failure)
        if not (is_retry and self._trouble == before):
            self._log_limit.log(
                logging.ERROR, "can't write %s: %s; the change is in memory only", self._path, why
            )
        reason = (isinstance(failure, OSError) and failure.strerror) or failure
        why = f"the change is in effect but not on disk: {reason}"
        return Response(ResponseCode.SYSTEM_ERROR, why)


class Saver:
    """The files of a name server."""

    def __init__(self, files: dict[Save, SavedFile]) -> None:
        self._files = files

    @property
    def has_failed(self) -> bool:
        """Whether the last attempt to write some file failed."""
        return any(file.has_failed for file in self._files.values())

    async def keep_trying(self) -> None:
        """Write files whose newest attempt failed again and again, until cancelled."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            for file in self._files.values():
                file.retry()

    async def finish(self) -> None:
        """Wait until every file has every change, or can't be written."""
        for file in self._files.values():
            await file.finish()

    def save(self, what: Save, saved: Saved) -> None:
        """Write a file; `saved` is called afterwards."""
        self._files[what].save(saved)
