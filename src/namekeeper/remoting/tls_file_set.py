"""The files of TLS as one set: an atomic read of all, and a comparison to find changes."""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, read_if_exists
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["FileSet", "build_from_one_set"]

ATTEMPTS = 5
"""Most reads of files that change during a read: a rotation changes three of them."""

T = TypeVar("T")


class FileSet(Struct, frozen=True):
    """Settings of TLS, and digests of the files that they name; equal sets give equal contexts."""

    settings: TlsSettings | None
    """None: the file `tls.config.file` can't be used."""
    trouble: str = ""
    """Why there are no settings."""
    digests: tuple[bytes | None, ...] = ()
    """None for a file that can't be read."""

    @classmethod
    def read(cls, read_settings: Callable[[], TlsSettings]) -> "FileSet":
        """Read the present settings and files; blocks on the disk."""
        try:
            settings = read_settings()
        except (ConfigError, OSError, ValueError) as error:
            return cls(None, str(error))
        return cls(
            settings,
            digests=tuple(
                map(
                    _digest,
                    (
                        settings.server_cert_path,
                        settings.server_key_path,
                        settings.server_trust_cert_path,
                        settings.client_cert_path,
                        settings.client_key_path,
                        settings.client_trust_cert_path,
                    ),
                )
            ),
        )


def build_from_one_set(
    read_settings: Callable[[], TlsSettings], build: Callable[[TlsSettings], T]
) -> tuple[FileSet, T]:
    """Build a value from files that were the same before and after; blocks on the disk.

    Otherwise a new certificate could meet the authorities of the old one. A link that is swapped between two
    reads could give one file of each.

    Raises:
        ConfigError: the files can't be used, or don't stay the same.
    """
    for _ in range(ATTEMPTS):
        found = FileSet.read(read_settings)
        if found.settings is None:
            raise ConfigError(found.trouble)
        try:
            built = build(found.settings)
        except ConfigError:
            if FileSet.read(read_settings) == found:
                raise
            continue
        if FileSet.read(read_settings) == found:
            return found, built
    raise ConfigError("the files of TLS change all the time: replace them together, as by a link")


def _digest(path: str) -> bytes | None:
    try:
        data = read_if_exists(path, limit=SMALL_FILE_BYTES) if path else None
    except OSError:
        return None
    return None if data is None else hashlib.sha256(data).digest()
