"""Writes the KV file and the properties file off the loop, before the answer to who changed them goes out."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor

from namekeeper.files import atomic_replace
from namekeeper.processor.outcome import Save
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import Response

__all__ = ["SavedFile", "Saver"]

log = logging.getLogger("namekeeper.files")

Saved = Callable[["Response | None"], None]
"""Told when the file holds the change: with None, or with the answer that says why it does not."""


class SavedFile:
    """One file whose text follows a state: changes made while it is being written share the next writing."""

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
        self._waiting: list[Saved] = []
        self._is_writing = False
        self.has_failed = False
        """Whether the newest attempt to write failed."""

    def save(self, saved: Saved) -> None:
        """Write the state as it is now, or newer; then tell `saved`."""
        self._waiting.append(saved)
        if not self._is_writing:
            self._write()

    def _write(self) -> None:
        self._is_writing = True
        told, self._waiting = self._waiting, []
        data = self._text()

        def write() -> None:
            try:
                atomic_replace(self._path, data)
            except OSError as error:
                failure: OSError | None = error
            else:
                failure = None
            self._call_soon_threadsafe(self._written, told, failure)

        self._executor.submit(write)

    def _written(self, told: list[Saved], failure: OSError | None) -> None:
        answer = None
        self.has_failed = failure is not None
        if failure is not None:
            log.error("can't write %s: %s; the change is in memory only", self._path, failure)
            why = f"the change is in effect but not on disk: {failure.strerror}"
            answer = Response(ResponseCode.SYSTEM_ERROR, why)
        for saved in told:
            saved(answer)
        if self._waiting:
            self._write()
        else:
            self._is_writing = False


class Saver:
    """The files of a name server, by what changed."""

    def __init__(self, files: dict[Save, SavedFile]) -> None:
        self._files = files

    @property
    def has_failed(self) -> bool:
        """Whether a file could not be written when it was last tried."""
        return any(file.has_failed for file in self._files.values())

    def save(self, what: Save, saved: Saved) -> None:
        """Have a file written; `saved` is told when it is."""
        self._files[what].save(saved)
