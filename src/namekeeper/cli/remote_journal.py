"""The journal of a running name server on another host, read over its operators' HTTP port.

Files are copied into a temporary folder when they are first read, because most questions need only a few of
them. A sealed segment does not change, so it is copied once. The other end may be anybody: each answer and
all copies together have a limit, and a copied segment is read like one of a foreign folder.
"""

import asyncio
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import IO, cast

import msgspec
from msgspec import Struct

from namekeeper.cli.connecting import Connector, properties_of
from namekeeper.errors import ConfigError, JournalError, NamekeeperError
from namekeeper.files import SMALL_FILE_BYTES, Os
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.identity import IDENTITY_FILE
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.remoting.address import Address, parse_address
from namekeeper.remoting.asking_pages import ANSWER_BYTES, PageAnswer, ask_page
from namekeeper.remoting.page_address import PageAddress
from namekeeper.remoting.tls_client import Tls

__all__ = ["RemoteJournal", "pages_of"]

ANSWER_SECONDS = 30.0
"""Longest time until the body of an answer begins, and longest pause of a name server within it."""
COPIES_BYTES = 16 << 30
"""Bytes of all files that are copied: `journalRetentionBytes` is 4 GiB unless an operator raised it."""


_JOURNAL = "has no journal on this host, and can't be asked for it"
_OTHER_WAYS = (
    ", run this command on its host, or copy the journal here with `namekeeper journal ship` and give"
    " --journal DIR"
)


def pages_of(
    address: Address, connector: Connector, *, lacks: str = _JOURNAL, other_ways: str = _OTHER_WAYS
) -> PageAddress:
    """Where a name server's operators' pages are, from its properties (request 319).

    Args:
        address: of the name server.
        connector: how to reach it.
        lacks: for an error: what the name server does not have or do.
        other_ways: for an error: what helps besides --http.

    Raises:
        ConfigError: the properties can't be read, or name no operators' pages; the message says what to do.
    """
    try:
        properties = properties_of(address, connector)
    except NamekeeperError as error:
        why = str(error)
    else:
        port = properties.get("httpPort", "")
        if port.isdecimal() and port != "0":
            is_tls = properties.get("httpTlsMode", "disabled") != "disabled"
            return PageAddress(parse_address(f"{address.host}:{port}"), is_tls)
        why = "it has no operators' pages (httpPort)"
    raise ConfigError(f"{address} {lacks}: {why}; give --http HOST:PORT for its operators' pages{other_ways}")


class _FileNames(Struct):
    files: list[str]


class RemoteJournal:
    """Copies the files of a journal when they are needed.

    Args:
        pages: where the operators' HTTP pages are.
        token: for access rules about `http`; empty for none.
        tls: for pages that speak TLS; None: the authorities of the system count.
    """

    def __init__(self, pages: PageAddress, *, token: str = "", tls: Tls | None = None) -> None:
        self._url = pages.url
        self._tls = tls
        self._token = token
        self._folder = Path(tempfile.mkdtemp(prefix="namekeeper-journal-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._copied: set[str] = set()
        self._budget = COPIES_BYTES

    def found(self) -> FoundJournal:
        """The journal with the segments that are there now.

        Raises:
            JournalError: the name server can't be asked for the names of its files.
        """
        try:
            listing = msgspec.json.decode(self._ask("/journal", ANSWER_BYTES).body, type=_FileNames)
        except UNREADABLE_JSON:
            raise self._failure("its answer is not that of a name server of ours") from None
        folder = self._folder
        names = {name: parsed for name in listing.files if (parsed := SegmentName.parse(name)) is not None}
        for old in {path.name for path in folder.iterdir()} - {*names, IDENTITY_FILE}:
            (folder / old).unlink()
        for name in names:
            (folder / name).touch()
        self._copied -= {name for name, parsed in names.items() if parsed.is_open}
        if IDENTITY_FILE in listing.files:
            self._copy(IDENTITY_FILE)
        system = cast("Os", _CopyingOs(self))  # everything else comes from `os`
        place = f"{self._url}/journal"
        return FoundJournal(str(self._folder), system=system, is_running=True, place=place)

    def copy(self, path: str) -> None:
        """Copy a file of the folder, unless it has been copied.

        Raises:
            OSError: the file can't be copied.
        """
        name = Path(path).name
        if not (self._folder / name).exists():
            raise FileNotFoundError(path)
        try:
            self._copy(name)
        except FileNotFoundError:
            self.found()  # it was sealed meanwhile, and has another name
            raise
        except JournalError as error:
            raise OSError(str(error)) from None

    def _copy(self, name: str) -> None:
        if name not in self._copied:
            limit = SMALL_FILE_BYTES if name == IDENTITY_FILE else self._budget
            with (self._folder / name).open("wb") as copy:
                self._ask(f"/journal/{name}", limit, copy)
                self._budget -= copy.tell()
            self._copied.add(name)

    def _ask(self, path: str, limit: int, into: IO[bytes] | None = None) -> PageAnswer:
        asking = ask_page(
            f"{self._url}{path}",
            token=self._token,
            tls=self._tls,
            pause_seconds=ANSWER_SECONDS,
            limit=limit,
            into=into,
        )
        try:
            answer = asyncio.run(asking)
        except OSError as error:
            raise self._failure(str(error)) from None
        if answer.status == 404 and path != "/journal":
            raise FileNotFoundError(path)
        if answer.status != 200:
            raise self._failure(f"it answers {answer.status}: {answer.text[:300]}")
        return answer

    def _failure(self, why: str) -> JournalError:
        return JournalError(
            f"can't read the journal over {self._url}: {why}; it must be the operators' port"
            " (httpPort, httpBindAddress) of a name server with a journal. Or run this command on its host,"
            " or copy the journal here with `namekeeper journal ship` and give --journal DIR"
        )


class _CopyingOs:
    """Like the module `os`, but a file is copied before it is opened."""

    def __init__(self, journal: RemoteJournal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        """Open a file."""
        self._journal.copy(path)
        return os.open(path, flags, mode)
