"""The files of access control: read at the start and after each change; used only if both are correct."""

import asyncio
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from namekeeper.access.policy import AccessPolicy, check_users
from namekeeper.access.rules import AccessRules
from namekeeper.access.rules_file import NO_KEYS, parse_access_file, parse_keys_file
from namekeeper.access.signature import AccessKeys
from namekeeper.errors import ConfigError
from namekeeper.files import problem_with

__all__ = ["AccessFiles", "ReadPolicy", "read_policy", "read_rules"]

log = logging.getLogger("namekeeper.access")

T = TypeVar("T")

POLL_SECONDS = 0.5
"""Interval of the check for changes, as for TLS files."""
FILE_LIMIT = 4 * 1024 * 1024
"""Largest file: a thousand rules with a hundred names each take less."""
FORBIDDEN_MODE = stat.S_IWGRP | stat.S_IRWXO
"""Permissions that the file of keys must not have. Its group may read it, as Kubernetes mounts secrets so."""


class ReadPolicy(Struct, frozen=True):
    """A policy, and the digest of the files that it was read from."""

    policy: AccessPolicy
    digest: bytes


class _Parsed(Generic[T]):
    """The value of a file's text, made once for each content: a file of megabytes takes seconds.

    Args:
        parse: makes the value of a text; raises ConfigError.
    """

    def __init__(self, parse: Callable[[str], T]) -> None:
        self._parse = parse
        self._digest = b""
        self._value: T | None = None
        self._problem = ""

    def of(self, text: str, digest: bytes) -> T:
        """Return the value.

        Args:
            text: the content of the file.
            digest: of the content.

        Raises:
            ConfigError: as `parse`.
        """
        if digest != self._digest:
            self._value, self._problem = None, ""
            try:
                self._value = self._parse(text)
            except ConfigError as error:
                self._problem = str(error)
            self._digest = digest
        if self._value is None:
            raise ConfigError(self._problem)
        return self._value


class _PolicyReader:
    """Reads both files again and again; blocks on the disk.

    Args:
        path: the file of rules.
        environment: variables that may hold keys.
    """

    def __init__(self, path: str, environment: Mapping[str, str]) -> None:
        self._path = path
        self._environment = environment
        self._rules = _Parsed(lambda text: parse_access_file(text, source=path))
        self._keys: tuple[str, _Parsed[AccessKeys]] | None = None
        """Path of the file of keys, and what was read from it."""

    def read(self) -> ReadPolicy:
        """Read both files.

        Raises:
            ConfigError: they can't be read or used; one line that names the remedy.
        """
        text, digest = _read_text(self._path)
        file = self._rules.of(text, digest)
        if file.keys_path is None:
            return ReadPolicy(AccessPolicy(file.rules, NO_KEYS), digest)
        path = str(Path(self._path).parent / file.keys_path)
        text, keys_digest = _read_text(path, is_secret=True)
        policy = AccessPolicy(file.rules, self._keys_in(path).of(text, keys_digest))
        check_users(policy, source=self._path)
        return ReadPolicy(policy, digest + keys_digest)

    def _keys_in(self, path: str) -> _Parsed[AccessKeys]:
        if self._keys is None or self._keys[0] != path:
            parse = partial(parse_keys_file, source=path, environment=self._environment)
            self._keys = path, _Parsed(parse)
        return self._keys[1]


def read_policy(path: str, environment: Mapping[str, str]) -> ReadPolicy:
    """Read both files once; blocks on the disk.

    Args:
        path: the file of rules.
        environment: variables that may hold keys.

    Raises:
        ConfigError: they can't be read or used; one line that names the remedy.
    """
    return _PolicyReader(path, environment).read()


def read_rules(path: str) -> AccessRules:
    """Read the file of rules alone, without the keys; blocks on the disk.

    Raises:
        ConfigError: as `read_policy`.
    """
    text, _ = _read_text(path)
    return parse_access_file(text, source=path).rules


class AccessFiles:
    """Watches the files for as long as the server runs."""

    def __init__(
        self,
        path: str,
        environment: Mapping[str, str],
        *,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """Read the files; ConfigError if they can't be used, so that no server starts open by mistake.

        Args:
            path: the file of rules.
            environment: variables that may hold keys.
            poll_seconds: interval of the checks for changes.
        """
        self._reader = _PolicyReader(path, environment)
        self._poll_seconds = poll_seconds
        self._applied = self._reader.read()
        self._seen = self._applied.digest
        """Digest at the last read."""
        self._trouble = ""

    @property
    def policy(self) -> AccessPolicy:
        """The newest usable policy."""
        return self._applied.policy

    @property
    def trouble(self) -> str:
        """Why the present files are not in use; empty if they are."""
        return self._trouble

    async def watch(self, on_change: Callable[[AccessPolicy], None]) -> None:
        """Call `on_change` with each new policy, until cancelled."""
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                found = await asyncio.to_thread(self._reader.read)
            except ConfigError as error:
                self._complain(str(error))
            else:
                self._take(found, on_change)

    def _take(self, found: ReadPolicy, on_change: Callable[[AccessPolicy], None]) -> None:
        """Use new content once two reads found the same: a read may come in the middle of a write."""
        self._trouble = ""
        is_settled, self._seen = found.digest == self._seen, found.digest
        if not is_settled or found.digest == self._applied.digest:
            return
        self._applied = found
        on_change(found.policy)
        rules = found.policy.rules
        log.info("access rules were read again: %d rules, mode %s", len(rules.rules), rules.mode.value)

    def _complain(self, text: str) -> None:
        """Log a problem once, as long as it stays the same."""
        self._seen = b""
        if text != self._trouble:
            self._trouble = text
            log.error("the access rules stay as they were: %s", text)


def _read_text(path: str, *, is_secret: bool = False) -> tuple[str, bytes]:
    """Content of a regular file, and its digest."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:  # noqa: PTH123 - by its descriptor
            _check(os.fstat(fd), path, is_secret=is_secret)
            data = file.read(FILE_LIMIT + 1) or b""  # None where reading would wait, as in /proc/kmsg
        if len(data) > FILE_LIMIT:
            raise ConfigError(f"{path} is too large: {FILE_LIMIT} bytes are allowed")
        return data.decode(), hashlib.sha256(data).digest()
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {problem_with(path, error)}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path} is not UTF-8: see byte {error.start}, in line {line}; save the file as UTF-8"
        ) from None


def _check(found: os.stat_result, path: str, *, is_secret: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"{path} is not a regular file: name the file of rules or keys itself")
    if is_secret and found.st_mode & FORBIDDEN_MODE:
        mode = stat.S_IMODE(found.st_mode)
        raise ConfigError(f"{path} holds secrets, and others may use it (mode {mode:o}): chmod 600 {path}")
