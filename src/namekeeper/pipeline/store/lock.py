"""One run at a time on a warehouse: a lock that dies with its process, or a lease where there is none.

On this machine the kernel holds the lock and drops it when the process ends, however it ends. Elsewhere a
small file says who works there and until when; it is renewed while the run lasts. That stops honest double
starts; two that begin in the same instant are told apart when they commit.
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

__all__ = ["LEASE_MS", "Lease", "hold"]

LEASE_MS = 10 * 60 * 1_000
"""A lease that was not renewed for so long is of a run that died."""

_NAME = "lock"


@contextmanager
def hold(warehouse: Folder) -> Iterator[Callable[[], None]]:
    """Have a warehouse for oneself; gives a function that raises BusyError if that is not so any more.

    Raises:
        BusyError: Another run has it.
        WarehouseError: It can't be written.
    """
    if isinstance(warehouse, LocalFolder):
        with _kernel_lock(Path(warehouse.path)):
            yield lambda: None
        return
    lease = Lease(warehouse)
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


class Lease:
    """A file that says who works on a warehouse and until when."""

    def __init__(
        self, warehouse: Folder, now_ms: Callable[[], int] = lambda: int(time.time() * 1_000)
    ) -> None:
        self._warehouse = warehouse
        self._now_ms = now_ms
        self._token = uuid.uuid4().hex

    def take(self) -> None:
        """Become the owner.

        Raises:
            BusyError: Another run is, and its lease has not ended.
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
        """Put the end off."""
        members = {
            "owner": f"process {os.getpid()} on {socket.gethostname()}",
            "token": self._token,
            "until_ms": self._now_ms() + LEASE_MS,
        }
        self._warehouse.put(_NAME, json.dumps(members).encode())

    def confirm(self) -> None:
        """Raise BusyError if somebody else has become the owner."""
        owner, token, _ = self._read()
        if token != self._token:
            raise BusyError(
                f"{self._warehouse.uri} was taken over by {owner or 'nobody'}; nothing of this run is kept"
            )

    def drop(self) -> None:
        """Give it up."""
        if self._read()[1] == self._token:
            self._warehouse.delete(_NAME)

    def _read(self) -> tuple[str, str, int]:
        """Owner, token and end; a file that can't be read is nobody's."""
        try:
            members = json.loads(self._warehouse.read(_NAME))
            return str(members["owner"]), str(members["token"]), int(members["until_ms"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
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


def _renew(lease: Lease, stop: threading.Event) -> None:
    while not stop.wait(LEASE_MS / 3_000):
        lease.renew()
