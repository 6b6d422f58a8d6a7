"""Two journals of one name server."""

import gzip

import pytest

from namekeeper.pipeline.errors import ConflictError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.ingest.conflicts import last_ts_of, settle
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.ingest.segments import Segment

OLD, NEW = "aaaaaaaa", "bbbbbbbb"


def segment(uuid8: str, boot: int, namesrv: str = "ns") -> Segment:
    return Segment(namesrv, uuid8, boot, 1, 9, False, 1, "j", f"{namesrv}-{uuid8}-{boot}")


def settled(*segments: Segment, ledger: Ledger | None = None, taken=None, length: int = 50):
    return settle(segments, ledger or Ledger(), taken or {}, lambda each: each.boot + length)


def test_a_single_journal_is_never_asked_for_its_times():
    found = settle([segment(OLD, 100)], Ledger(), {}, lambda each: pytest.fail("asked"))
    assert (found.segments, found.conflicts, found.several) == ([segment(OLD, 100)], [], {})


def test_one_after_the_other_is_reported():
    found = settled(segment(OLD, 100), segment(NEW, 200), segment(OLD, 300))
    assert len(found.segments) == 3
    assert found.several == {"ns": (OLD, NEW)}


def test_at_the_same_time_neither_is_taken_and_others_are():
    others = segment(OLD, 100, "other")
    found = settled(segment(OLD, 100), segment(NEW, 150), others)
    assert found.segments == [others]
    message = found.conflicts[0].message
    assert "--take ns=aaaaaaaa or --take ns=bbbbbbbb" in message
    assert "journalNamesrvId" in message


def test_what_is_in_counts_too():
    ledger = Ledger({("ns", OLD, 100): LoadedBoot(((1, 9),), last_ts=500)})
    assert [each.uuids for each in settled(segment(NEW, 300), ledger=ledger).conflicts] == [(OLD, NEW)]
    assert settled(segment(NEW, 501), ledger=ledger).conflicts == []


def test_the_user_says_which_is_right_and_it_is_remembered():
    found = settled(segment(OLD, 100), segment(NEW, 120), taken={"ns": NEW})
    assert found.segments == [segment(NEW, 120)]
    assert found.ledger.new([segment(OLD, 900), segment(NEW, 901)], lambda each: each) == [segment(NEW, 901)]


def test_a_choice_that_cannot_be_made_is_an_error():
    with pytest.raises(ConflictError, match="there are aaaaaaaa, bbbbbbbb"):
        settled(segment(OLD, 100), segment(NEW, 120), taken={"ns": "cccccccc"})
    ledger = Ledger({("ns", OLD, 100): LoadedBoot(((1, 9),), last_ts=500)})
    with pytest.raises(ConflictError, match="aaaaaaaa is in the warehouse already"):
        settled(segment(NEW, 300), ledger=ledger, taken={"ns": NEW})
    assert settled(segment(NEW, 300), ledger=ledger, taken={"ns": OLD}).segments == []


@pytest.mark.parametrize(
    ("data", "wanted"),
    [(b'{"ts":1}\n{"ts":7}\n{"x":', 7), (b"", 0), (b"\0\0\n[1]\n", 0), (b'{"ts":"x"}\n{"ts":3}\n', 3)],
)
def test_the_time_of_the_last_record_that_can_be_read(tmp_path, data, wanted):
    folder = open_folder(str(tmp_path))
    folder.put("plain", data)
    folder.put("packed", gzip.compress(data))
    folder.put("cut", gzip.compress(data + b"\n" + b'{"ts":9}\n' * 5)[:-9])
    plain = segment(OLD, 1)._replace(path="plain")
    assert last_ts_of(folder, plain) == wanted
    assert last_ts_of(folder, plain._replace(path="packed", compressed=True)) == wanted
    assert last_ts_of(folder, plain._replace(path="cut", compressed=True)) in {0, 9, wanted}
    assert last_ts_of(folder, plain._replace(path="nothing")) == 0


@pytest.mark.parametrize(
    "ts", [b"1e999", b"NaN", b"[1]", b"null", b"9" * 5_000, b"[" * 1_000_000], ids=lambda ts: repr(ts[:8])
)
def test_a_time_that_is_none_is_passed_over(tmp_path, ts):
    (tmp_path / "plain").write_bytes(b'{"ts":7}\n{"ts":' + ts + b"}\n")
    assert last_ts_of(LocalFolder(str(tmp_path)), segment(OLD, 1)._replace(path="plain")) == 7
