"""Who did what: the requests that access rules judged, and those that were refused, from journals."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from namekeeper.access.request_class import CLASSES, RequestClass
from namekeeper.answers.times import Zone, shown
from namekeeper.common.printable import printable
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.record import Access, Denied, Record
from namekeeper.journal.reading.reader import FoundJournal, find_segments, read_segment_lines
from namekeeper.wire.codes import RequestCode

__all__ = ["AuditEntry", "audit_lines", "read_audit"]

_KINDS = (b'{"kind":"access"', b'{"kind":"denied"')
_BY_RULES = "refused by "
"""How the reason of a refusal by access rules begins."""
_RECORDED = {
    int(code)
    for code, its_class in CLASSES.items()
    if its_class is RequestClass.ADMIN or code in (RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER)
}
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
    """The rule, or another reason of a refusal."""
    peer: str
    """`host:port`, or the host alone; empty if there were several."""
    user: str
    certificate: str
    about: tuple[str, ...]
    count: int


def read_audit(journals: Iterable[FoundJournal], begin_at: int, end_at: int) -> list[AuditEntry]:
    """Requests after a time, up to another (wall ms), in the order of time.

    Raises:
        JournalError: a folder is not a journal, or can't be read.
    """
    entries = (entry for journal in journals for entry in _entries(journal))
    return sorted((each for each in entries if begin_at < each.at <= end_at), key=lambda each: each.at)


def audit_lines(entries: Iterable[AuditEntry], zone: Zone) -> Iterator[str]:
    """One line for each entry."""
    for entry in entries:
        yield printable(f"{shown(entry.at, zone)}  {_sentence(entry)}  [{entry.namesrv}]")


def _entries(journal: FoundJournal) -> Iterator[AuditEntry]:
    reader = RecordReader()
    for name in find_segments(journal.folder, journal.writer):
        for line in read_segment_lines(journal.folder, name):
            record = reader(line, name) if line.data.startswith(_KINDS) else None
            if isinstance(record, Record):
                yield from _entry(record)


def _entry(record: Record) -> Iterator[AuditEntry]:
    if isinstance(record, Access):
        rule = f"rule {record.rule!r}" if record.rule else "no rule"
        yield AuditEntry(
            at=record.ts, namesrv=record.namesrv, code=record.code, allowed=record.allowed, mode=record.mode,
            reason=rule, peer=record.peer, user=record.user, certificate=record.certificate,
            about=tuple(record.about), count=record.count,
        )  # fmt: skip
    elif isinstance(record, Denied) and not (
        record.code in _RECORDED and record.reason.startswith(_BY_RULES)
    ):
        yield AuditEntry(
            at=record.ts, namesrv=record.namesrv, code=record.code, allowed=False, mode="",
            reason=record.reason.removeprefix(_BY_RULES), peer=record.host, user="", certificate="", about=(),
            count=record.count,
        )  # fmt: skip


def _sentence(entry: AuditEntry) -> str:
    verb = "allowed" if entry.allowed else "refused"
    if not entry.allowed and entry.mode == "audit":
        verb = "audit only: refused"
    times = f"{entry.count:,} x " if entry.count > 1 else ""
    name = RequestCode(entry.code).name if entry.code in CLASSES else "code"
    what = " ".join([f"{times}{name} ({entry.code})", *entry.about])
    user = f"user {entry.user}" if entry.user else ""
    who = ", ".join(part for part in (entry.peer or "several peers", user, entry.certificate) if part)
    return f"{verb} {what} from {who} by {entry.reason}"
