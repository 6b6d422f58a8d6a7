"""The file of the KV configuration: read at the start, and owned by one process as long as it runs.

A second name server with the same file starts, as in Java, and answers from the content that it read. It
refuses changes of the KV configuration: otherwise each of the two would overwrite the other's changes
unnoticed. When the owner has ended, the second one reads the file again and becomes the owner.
"""

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
from concurrent.futures import Executor
from pathlib import Path

from namekeeper.app.effects import Effects
from namekeeper.common.copied_text import remarks_on_json
from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.errors import ConfigError
from namekeeper.files import (
    make_folder,
    open_plain_file,
    problem_with,
    read_with_backup,
    refuse_to_replace,
    set_aside,
    sweep_temporaries,
)
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.links import followed
from namekeeper.processor.kv import own_kv_config
from namekeeper.processor.state import NameServerState
from namekeeper.wire import fastjson

__all__ = ["KvFile", "become_kv_owner"]

log = logging.getLogger("namekeeper.files")

_REFUSAL = (
    "the KV file %s belongs to the name server with process number %s: send changes there, or start this one"
    " with another kvConfigPath"
)
_BACKUP = (
    "the KV file %s can't be used: %s; the entries are those of %s.bak, without the last change. A broken"
    " file is kept as .corrupt; to start empty, move both away"
)


class KvFile:
    """The file, and its lock if this process owns it; `release` gives the lock back.

    Args:
        path: the file; its lock lies beside it.

    Raises:
        ConfigError: something else than a file has the name; one line that names the remedy.
    """

    def __init__(self, path: str) -> None:
        try:
            refuse_to_replace(followed(path))
        except OSError as error:
            why = os.strerror(errno.EISDIR) if Path(path).is_dir() else error.strerror
            raise ConfigError(f"can't read the KV file {path}: {why}") from None
        self._path = path
        self._fd: int | None = None
        self.refusal: str | None = None
        """Why the KV configuration can't be changed; None if it can."""
        self._take()

    def load(self) -> KvConfigStore:
        """Read the table.

        Raises:
            ConfigError: it can't be read; one line that names the remedy.
        """
        try:
            found = read_with_backup(self._path, lambda data: (_parse(data), remarks_on_json(data)))
            if found.is_backup and self._fd is not None:
                set_aside(followed(self._path))
        except OSError as error:
            path = error.filename or self._path
            raise ConfigError(f"can't read the KV file {path}: {problem_with(path, error)}") from None
        except ConfigError as error:
            raise ConfigError(f"{error}; repair the file, or move it away to start empty") from None
        if found.is_backup:
            log.warning(_BACKUP, self._path, found.problem, self._path, extra=ON_CONSOLE)
        elif found.problem:
            log.warning("the KV file %s is empty, so there are no entries", self._path, extra=ON_CONSOLE)
        store, remarks = found.value or (KvConfigStore(), [])
        for remark in remarks:
            log.warning(
                "the KV file %s is read as RocketMQ reads it; %s", self._path, remark, extra=ON_CONSOLE
            )
        return store

    def take_over(self) -> KvConfigStore | None:
        """Become the owner if there is none; return the content of the file, None if there is an owner.

        Raises:
            ConfigError: it can't be read; then it has no owner.
        """
        try:
            self._fd = _locked(_lock_of(self._path))
        except BlockingIOError:
            return None
        except OSError as error:
            raise ConfigError(
                f"can't own the KV file {self._path}: {problem_with(self._path, error)}"
            ) from None
        try:
            found = self.load()
        except ConfigError:
            self.release()
            raise
        self.refusal = None
        self._sweep()
        return found

    def release(self) -> None:
        """Release the lock; may be called twice."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _take(self) -> None:
        lock = _lock_of(self._path)
        try:
            make_folder(str(Path(lock).parent))
            self._fd = _locked(lock)
        except BlockingIOError:
            holder = _holder(lock)
            self.refusal = _REFUSAL % (self._path, holder)
            log.warning(_REFUSAL, self._path, holder)
        except OSError as error:
            why = problem_with(lock, error)
            log.warning(
                "nothing keeps another name server from writing %s: %s", self._path, why, extra=ON_CONSOLE
            )
        else:
            self._sweep()

    def _sweep(self) -> None:
        try:
            swept = sweep_temporaries(self._path)
        except OSError as error:
            log.warning("can't remove leftovers beside %s: %s", self._path, error)
            return
        for name in swept:
            log.info("removed %s, which a killed process left", name)


def _parse(data: bytes) -> KvConfigStore:
    return KvConfigStore.from_text(data, lenient=fastjson.decode)


def _lock_of(path: str) -> str:
    return f"{followed(path)}.lock"


def _locked(path: str) -> int:
    fd = open_plain_file(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode())
    except OSError:
        os.close(fd)
        raise
    return fd


def _holder(path: str) -> str:
    with contextlib.suppress(OSError):
        fd = open_plain_file(path, os.O_RDONLY)
        try:
            return os.read(fd, 20).decode(errors="replace").strip() or "unknown"
        finally:
            os.close(fd)
    return "unknown"


LOOK_SECONDS = 2.0
"""Interval of the tries."""


async def become_kv_owner(file: KvFile, state: NameServerState, effects: Effects, *, files: Executor) -> None:
    """Try until this process owns the file, then use its content; return at once for an owner.

    Args:
        file: the KV file.
        state: answers from the content read at the start until then.
        effects: carries out the effects of the changes.
        files: the thread that reads files.
    """
    loop = asyncio.get_running_loop()
    trouble = ""
    while state.kv_refusal is not None:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            found = await loop.run_in_executor(files, file.take_over)
        except ConfigError as error:
            if str(error) != trouble:
                trouble = str(error)
                log.warning("the KV file has no owner, and can't be taken over: %s", trouble)
            continue
        if found is not None:
            for change in own_kv_config(state, found):
                effects.apply(change)
            log.warning("the owner of the KV file has ended: it is changed here from now on")
