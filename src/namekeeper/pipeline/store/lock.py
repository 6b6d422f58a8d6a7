"""Lets one run at a time work on a warehouse: by a kernel lock, or on other file systems by a lease.

For a folder of this machine the kernel releases the lock when the process ends, in any way. Elsewhere a small
file names the run and its time limit; the run renews it. That prevents a second start by mistake. If two runs
start at the same instant, the commit of one of them fails.
"""

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from namekeeper.pipeline.errors import BusyError, WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.files.local_folder import LocalFolder

__all__ = ["LEASE_MS", "WarehouseLease", "lock_warehouse"]

LEASE_MS = 10 * 60 * 1_000
"""A lease that was not renewed for this long belongs to a run that died."""

_NAME = "lock"


@contextmanager
def lock_warehouse(warehouse: Folder) -> Iterator[Callable[[], None]]:
    """Lock a warehouse for one run; yields a function that raises BusyError if the lock is lost.

    Raises:
        BusyError: Another run holds the lock.
        WarehouseError: The folder can't be written.
    """
    if isinstance(warehouse, LocalFolder):
        with _kernel_lock(Path(warehouse.path)):
            yield lambda: None
        return
    lease = WarehouseLease(warehouse)
    lease.take()
    stop = threading.Event()
    renewing = threading.Thread(target=_renew, args=(lease, stop), name="lease", daemon=True)
    renewing.start()
    try:
        yield lease.confirm
    finally:
        stop.set()
        renewing.join()
        lease.drop()


class WarehouseLease:
    """A file with the owner of a warehouse's lock and its time limit."""

    def __init__(
        self, warehouse: Folder, now_ms: Callable[[], int] = lambda: int(time.time() * 1_000)
    ) -> None:
        self._warehouse = warehouse
        self._now_ms = now_ms
        self._token = uuid.uuid4().hex

    def take(self) -> None:
        """Take the lease.

        Raises:
            BusyError: Another run holds it, and it has not expired.
        """
        owner, token, until_ms = self._read()
        left_ms = until_ms - self._now_ms()
        if token not in {"", self._token} and left_ms > 0:
            raise BusyError(
                f"{self._warehouse.uri} is in use by {owner}; wait for it to end. If it died, its lease"
                f" ends in {left_ms // 1_000} s"
            )
        self.renew()
        self.confirm()

    def renew(self) -> None:
        """Extend the lease."""
        members = {
            "owner": f"process {os.getpid()} on {socket.gethostname()}",
            "token": self._token,
            "until_ms": self._now_ms() + LEASE_MS,
        }
        self._warehouse.put(_NAME, json.dumps(members).encode())

    def confirm(self) -> None:
        """Check that the lease is still ours.

        Raises:
            BusyError: Another run has taken it.
        """
        owner, token, _ = self._read()
        if token != self._token:
            raise BusyError(
                f"{self._warehouse.uri} was taken over by {owner or 'nobody'}; nothing of this run is kept"
            )

    def drop(self) -> None:
        """Delete the lease, if it is ours."""
        if self._read()[1] == self._token:
            self._warehouse.delete(_NAME)

    def _read(self) -> tuple[str, str, int]:
        """Owner, token and end; a file that can't be read has no owner."""
        try:
            members = json.loads(self._warehouse.read(_NAME))
            return str(members["owner"]), str(members["token"]), int(members["until_ms"])
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            return "", "", 0


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


def _renew(lease: WarehouseLease, stop: threading.Event) -> None:
    while not stop.wait(LEASE_MS / 3_000):
        lease.renew()
