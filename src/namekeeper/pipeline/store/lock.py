"""Lets one run at a time work on a warehouse: by a kernel lock, or on other file systems by a lease.

For a folder of this machine the kernel releases the lock when the process ends, in any way. Elsewhere a small
file names the run and its time limit; the run renews it. Every write of it is conditional on what the run has
read, so of two runs that start at the same instant one is refused, and a lost lease can't be taken back.
"""

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from namekeeper.pipeline.errors import BusyError, PipelineError, WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.files.local_folder import LocalFolder

__all__ = ["LEASE_MS", "LeaseKeeper", "WarehouseLease", "lock_warehouse"]

LEASE_MS = 10 * 60 * 1_000
"""A lease that was not renewed for this long belongs to a run that died."""

_NAME = "lock"
_RENEWED_EVERY = LEASE_MS / 3_000
"""Seconds."""
_RETRIED_AFTER = 10.0
"""Seconds after a renewal that failed, because the store may be away for a while only."""


@contextmanager
def lock_warehouse(warehouse: Folder) -> Iterator[Callable[[], None]]:
    """Lock a warehouse for one run; yields a function that raises PipelineError if the lock is lost.

    Raises:
        BusyError: Another run holds the lock.
        WarehouseError: The folder can't be written, or has no conditional writes.
    """
    if isinstance(warehouse, LocalFolder):
        with _kernel_lock(Path(warehouse.path)):
            yield lambda: None
        return
    with LeaseKeeper(WarehouseLease(warehouse)) as keeper:
        yield keeper.confirm


class WarehouseLease:
    """A file with the owner of a warehouse's lock and its time limit."""

    def __init__(
        self, warehouse: Folder, now_ms: Callable[[], int] = lambda: int(time.time() * 1_000)
    ) -> None:
        self._warehouse = warehouse
        self._now_ms = now_ms
        self._token = uuid.uuid4().hex
        self._until_ms = 0
        self._one_at_a_time = threading.Lock()

    def take(self) -> None:
        """Take the lease.

        Raises:
            BusyError: Another run holds it, and it has not expired; or takes it at this instant.
        """
        with self._one_at_a_time:
            found = self._warehouse.read_versioned(_NAME)
            owner, token, until_ms = _parts_of(found.data) if found else _NOBODY
            left_ms = until_ms - self._now_ms()
            if token and left_ms > 0:
                raise BusyError(
                    f"{self._warehouse.uri} is in use by {owner}; wait for it to end. If it died, its lease"
                    f" ends in {left_ms // 1_000} s"
                )
            until_ms, data = self._extended()
            if found is None:
                is_taken = self._warehouse.put_new(_NAME, data)
            else:
                is_taken = self._warehouse.put_if_unchanged(_NAME, data, found.version)
            if not is_taken and not self._holds(data):
                raise BusyError(
                    f"{self._warehouse.uri} was taken by another run just now; wait for it to end"
                )
            self._until_ms = until_ms

    def renew(self) -> None:
        """Extend the lease.

        Raises:
            BusyError: It has ended, or another run has taken it.
        """
        with self._one_at_a_time:
            if self._now_ms() >= self._until_ms:
                raise self._lost("its lease has ended, because it could not be renewed in time")
            found = self._warehouse.read_versioned(_NAME)
            owner, token, _ = _parts_of(found.data) if found else _NOBODY
            until_ms, data = self._extended()
            if found is None or token != self._token:
                raise self._lost(f"it was taken over by {owner or 'nobody'}")
            is_renewed = self._warehouse.put_if_unchanged(_NAME, data, found.version)
            if not is_renewed and not self._holds(data):
                raise self._lost("it was taken over at this instant")
            self._until_ms = until_ms

    def drop(self) -> None:
        """Give the lease up, if it is ours."""
        with self._one_at_a_time:
            found = self._warehouse.read_versioned(_NAME)
            if found is not None and _parts_of(found.data)[1] == self._token:
                self._warehouse.put_if_unchanged(_NAME, _members(*_NOBODY), found.version)

    def _extended(self) -> tuple[int, bytes]:
        """The end of the lease if it is extended now, and its file."""
        until_ms = self._now_ms() + LEASE_MS
        return until_ms, _members(f"process {os.getpid()} on {socket.gethostname()}", self._token, until_ms)

    def _holds(self, data: bytes) -> bool:
        """Whether a refused write is there: the client repeats a request whose answer was lost."""
        found = self._warehouse.read_versioned(_NAME)
        return found is not None and found.data == data

    def _lost(self, why: str) -> BusyError:
        return BusyError(
            f"{self._warehouse.uri} is not this run's any more: {why}; nothing of this run is kept, run it"
            " again"
        )


class LeaseKeeper:
    """Takes a lease for the time of a block, and renews it in a thread."""

    def __init__(
        self, lease: WarehouseLease, every: float = _RENEWED_EVERY, after_failure: float = _RETRIED_AFTER
    ) -> None:
        self._lease = lease
        self._every = every
        self._after_failure = after_failure
        self._stop = threading.Event()
        # The thread gives the lease up as well: Ctrl-C or SIGTERM interrupts only the main thread.
        self._thread = threading.Thread(target=self._keep, name="lease")
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        try:
            self._lease.take()
            self._thread.start()
        except BaseException:
            self._stop.set()
            if not self._thread.is_alive():
                self._drop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def confirm(self) -> None:
        """Check that the lease is ours, and extend it.

        Raises:
            BusyError: It is lost.
            WarehouseError: It could not be renewed.
        """
        if isinstance(self._error, PipelineError):
            raise self._error
        if self._error is not None:
            raise WarehouseError(
                f"the lease of the warehouse was not renewed: {self._error!r}; nothing of this run is kept"
            ) from self._error
        self._lease.renew()

    def _keep(self) -> None:
        pause = self._every
        try:
            while not self._stop.wait(pause):
                try:
                    self._lease.renew()
                    pause = self._every
                except OSError:  # `confirm` renews it too, and fails if the store is still away
                    pause = self._after_failure
        except BaseException as error:  # noqa: BLE001 -- confirm raises it
            self._error = error
        self._drop()

    def _drop(self) -> None:
        with suppress(OSError, PipelineError):  # then it ends by itself, and the next run says when
            self._lease.drop()


_NOBODY = ("", "", 0)


def _members(owner: str, token: str, until_ms: int) -> bytes:
    # The time makes each content, and so its version, another one.
    return json.dumps({"owner": owner, "token": token, "until_ms": until_ms, "at": time.time_ns()}).encode()


def _parts_of(data: bytes) -> tuple[str, str, int]:
    """Owner, token and end; a file that can't be read has no owner."""
    try:
        members = json.loads(data)
        return str(members["owner"]), str(members["token"]), int(members["until_ms"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return _NOBODY


@contextmanager
def _kernel_lock(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise WarehouseError(
            f"{folder} can't be written: {error}; give another folder, or the right to it"
        ) from error
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(fd, 200, 0).decode(errors="replace").strip()
            raise BusyError(f"{folder} is in use by {owner or 'another run'}; wait for it to end") from error
        os.truncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)
