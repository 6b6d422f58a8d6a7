"""The audit of requests: those that access rules checked, and those that the server refused."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from namekeeper.access.judged import NO_RULE_COVERS_IT, is_refusal_by_rules
from namekeeper.access.request_class import CLASSES, TAKING_OVER, codes_of
from namekeeper.answers.times import Zone, shown
from namekeeper.common.printable import printable
from namekeeper.journal.contract.activity import Access, Denied
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.kinds import KINDS
from namekeeper.journal.contract.record import Record
from namekeeper.journal.contract.stated import kind_name
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, always_skip, notes_of
from namekeeper.messages.catalogue import RequestClass
from namekeeper.wire.codes import RequestCode

__all__ = [
    "EVERY_REQUEST",
    "AuditEntry",
    "AuditQuery",
    "audit_from_rows",
    "audit_lines",
    "audit_values",
    "read_audit",
]

_OTHER_KINDS = frozenset(map(kind_name, KINDS)) - {"access", "denied"}
_RECORDED = TAKING_OVER | codes_of(RequestClass.ADMIN)
"""Codes for which each refusal by a rule has a record of its own, besides the count."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One request; or several that are counted together."""

    at: int
    """Wall ms."""
    namesrv: str
    code: int
    allowed: bool
    mode: str
    """`audit` if a refusal was only logged; empty if no access rule refused it."""
    reason: str
    """`rule 'NAME'`, or in words why it was refused."""
    peer: str
    """`host:port`, or the host alone; empty if there were several."""
    user: str
    claimed: str
    """User that the request names without a proof."""
    certificate: str
    about: tuple[str, ...]
    count: int


class AuditQuery(Struct, frozen=True):
    """Which requests are wanted."""

    text: str = ""
    """Part of the names of the peer, the user or the request, in any case of letters. Empty: all."""
    newest: int | None = None
    """Largest number of entries: the newest ones are returned."""

    def select(self, entries: Iterable[AuditEntry]) -> list[AuditEntry]:
        """Return the wanted ones, in the order of time."""
        wanted = (each for each in entries if self.text.lower() in _sentence(each).lower())
        found = wanted if self.newest is None else heapq.nlargest(self.newest, wanted, key=_at)
        return sorted(found, key=_at)


EVERY_REQUEST = AuditQuery()


def read_audit(
    journals: Iterable[FoundJournal],
    begin_at: int,
    end_at: int,
    query: AuditQuery = EVERY_REQUEST,
    note: Callable[[str], object] = lambda _: None,
) -> list[AuditEntry]:
    """Requests after a time, up to another (wall ms), in the order of time.

    Args:
        journals: of the name servers.
        begin_at: wall ms.
        end_at: wall ms.
        query: which requests are wanted.
        note: called with each line about what could not be read.

    Raises:
        JournalError: a folder is not a journal, or can't be read.
    """
    entries = (entry for journal in journals for entry in _entries(journal, note))
    return query.select(each for each in entries if begin_at < each.at <= end_at)


def audit_from_rows(
    judged: Iterable[Mapping[str, Any]],
    denied: Iterable[Mapping[str, Any]],
    query: AuditQuery = EVERY_REQUEST,
) -> list[AuditEntry]:
    """The requests from rows of a warehouse: those of the queries `judged_request` and `denied_request`."""
    entries = [
        _judged(
            at=row["at"], namesrv=row["namesrv"], code=row["code"], allowed=row["allowed"], mode=row["mode"],
            rule=row["rule"] or "", peer=row["peer"] or "", user=row["user"] or "",
            claimed=row.get("claimed") or "",
            certificate=row["certificate"] or "", about=tuple(row["about"] or ()), count=row["count"],
        )
        for row in judged
    ]  # fmt: skip
    entries += [
        _denied(row["at"], row["namesrv"], row["code"], row["reason"], row["host"] or "", row["count"])
        for row in denied
        if not _has_its_own_record(row["code"], row["reason"])
    ]
    return query.select(entries)


def audit_values(entries: Iterable[AuditEntry]) -> list[dict[str, Any]]:
    """The parts of each line: `at` (wall ms), `namesrv`, `verdict`, `what`, `who`, `peer` and `reason`."""
    return [
        {
            "at": entry.at, "namesrv": entry.namesrv, "verdict": _verdict(entry), "what": _what(entry),
            "who": _who(entry), "peer": entry.peer, "reason": entry.reason,
        }
        for entry in entries
    ]  # fmt: skip


def audit_lines(entries: Iterable[AuditEntry], zone: Zone) -> Iterator[str]:
    """One line for each entry."""
    for entry in entries:
        yield printable(f"{shown(entry.at, zone)}  {_sentence(entry)}  [{entry.namesrv}]")


def _entries(journal: FoundJournal, note: Callable[[str], object]) -> Iterator[AuditEntry]:
    reader = RecordReader(skip=_OTHER_KINDS)
    for record in JournalReader(journal).records(reader, can_skip=always_skip):
        if isinstance(record, Record):
            yield from _entry(record)
    for text in notes_of(reader):
        note(f"{journal}: {text}")


def _entry(record: Record) -> Iterator[AuditEntry]:
    if isinstance(record, Access):
        yield _judged(
            at=record.ts, namesrv=record.namesrv, code=record.code, allowed=record.allowed, mode=record.mode,
            rule=record.rule, peer=record.peer, user=record.user,
            claimed=record.claimed, certificate=record.certificate,
            about=tuple(record.about), count=record.count,
        )  # fmt: skip
    elif isinstance(record, Denied) and not _has_its_own_record(record.code, record.reason):
        yield _denied(record.ts, record.namesrv, record.code, record.reason, record.host, record.count)


def _judged(*, rule: str, **fields: Any) -> AuditEntry:  # noqa: ANN401 - those of an entry, by name
    return AuditEntry(reason=f"rule {rule!r}" if rule else NO_RULE_COVERS_IT, **fields)


def _denied(at: int, namesrv: str, code: int, reason: str, host: str, count: int) -> AuditEntry:
    return AuditEntry(
        at=at, namesrv=namesrv, code=code, allowed=False, mode="", peer=host,
        reason=reason.removeprefix("refused by ").removeprefix("refused: "), user="", claimed="",
        certificate="",
        about=(), count=count,
    )  # fmt: skip


def _has_its_own_record(code: int, reason: str) -> bool:
    return code in _RECORDED and is_refusal_by_rules(reason)


def _at(entry: AuditEntry) -> int:
    return entry.at


def _sentence(entry: AuditEntry) -> str:
    by = " by" if entry.reason.startswith("rule ") else ":"
    return f"{_verdict(entry)} {_what(entry)} from {_who(entry)}{by} {entry.reason}"


def _verdict(entry: AuditEntry) -> str:
    if entry.allowed:
        return "allowed"
    return "audit only: refused" if entry.mode == "audit" else "refused"


def _what(entry: AuditEntry) -> str:
    times = f"{entry.count:,} x " if entry.count > 1 else ""
    name = RequestCode(entry.code).name if entry.code in CLASSES else "code"
    return " ".join([f"{times}{name} ({entry.code})", *entry.about])


def _who(entry: AuditEntry) -> str:
    user = f"user {entry.user}" if entry.user else ""
    if entry.claimed:
        user = f"user {entry.claimed} (not proved)"
    return ", ".join(part for part in (entry.peer or "several peers", user, entry.certificate) if part)
