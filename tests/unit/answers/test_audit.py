"""Who did what is read from journals, and one refusal is one entry."""

from datetime import UTC

from namekeeper.answers.audit import audit_lines, read_audit
from namekeeper.journal.contract.activity import Access, Denied
from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.contract.record import Record, ServerStarted
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.journal.folder import write_journal

T0 = 1_700_000_000_000
END = 2**62


def judged(code: int = 216, peer: str = "10.0.9.1:5", **more) -> Access:
    record = Access(code=code, count=more.pop("count", 1), mode=more.pop("mode", "enforce"), **more)
    record.peer = peer
    return record


def journal(folder, *records: Record) -> list[FoundJournal]:
    first = ServerStarted(uuid="0a1b2c3d", server_version="1", checksums=True)
    lines = [
        encode_record(record, Stamp(namesrv="ns-1", boot=1, seq=seq, ts=T0 + 1_000 * seq, up_ms=seq))
        for seq, record in enumerate((first, *records), 1)
    ]
    return [FoundJournal(str(write_journal(folder, lines, per_segment=2)))]


def lines(folder, *records: Record) -> list[str]:
    found = audit_lines(read_audit(journal(folder, *records), 0, END), UTC)
    return [line.partition(" UTC  ")[2].removesuffix("  [ns-1]") for line in found]


def test_a_line_says_what_of_what_from_whom_and_by_which_rule(tmp_path):
    assert lines(
        tmp_path,
        judged(allowed=True, rule="operators", user="ops", certificate="CN=ops", about=["topics=T"]),
        judged(103, about=["clusters=c", "brokers=b"]),
        judged(mode="audit"),
        judged(peer="", rule="no", count=1_234),
        judged(claimed="ops"),
    ) == [
        "allowed DELETE_TOPIC_IN_NAMESRV (216) topics=T from 10.0.9.1:5, user ops, CN=ops by rule 'operators'",
        "refused REGISTER_BROKER (103) clusters=c brokers=b from 10.0.9.1:5: no rule covers it",
        "audit only: refused DELETE_TOPIC_IN_NAMESRV (216) from 10.0.9.1:5: no rule covers it",
        "refused 1,234 x DELETE_TOPIC_IN_NAMESRV (216) from several peers by rule 'no'",
        "refused DELETE_TOPIC_IN_NAMESRV (216) from 10.0.9.1:5, user ops (not proved): no rule covers it",
    ]


def test_what_is_only_counted_is_there_too_and_nothing_twice(tmp_path):
    by_rule = "refused: no rule covers it"
    assert lines(
        tmp_path,
        Denied(code=105, host="10.0.0.1", reason=by_rule, count=7),
        Denied(code=216, host="10.0.0.1", reason=by_rule, count=7),
        Denied(code=318, host="10.0.0.1", reason="not allowed here", count=1),
        Denied(code=4711, reason="x\x1b", count=1),
    ) == [
        "refused 7 x GET_ROUTEINFO_BY_TOPIC (105) from 10.0.0.1: no rule covers it",
        "refused UPDATE_NAMESRV_CONFIG (318) from 10.0.0.1: not allowed here",
        "refused code (4711) from several peers: x\\x1b",
    ]


def test_a_window_has_what_is_after_its_beginning_up_to_its_end(tmp_path):
    found = journal(tmp_path, judged(100), judged(102), judged(205))
    assert [entry.code for entry in read_audit(found, T0 + 2_000, T0 + 3_000)] == [102]


def test_what_can_not_be_read_is_noted(tmp_path):
    (found,) = journal(tmp_path, judged(), judged(), judged())
    broken = max(tmp_path.glob("*.jsonl*"))
    broken.write_bytes(broken.read_bytes()[:-20])
    notes: list[str] = []
    entries = read_audit([found], 0, END, note=notes.append)
    assert len(entries) < 3
    assert notes
    assert all(text.startswith(str(tmp_path)) for text in notes)
    assert "not read" in notes[0]
