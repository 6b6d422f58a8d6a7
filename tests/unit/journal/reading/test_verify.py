"""A whole journal is found whole; everything that is lost or broken is reported with its position."""

import gzip
import os
import re
import shutil

import msgspec
import pytest
from msgspec import structs

from namekeeper.cli.verify_text import verify_lines
from namekeeper.errors import JournalError
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.record import SegmentsDeleted, ServerStopped
from namekeeper.journal.disk.last_boot import LastBoot, last_boot_path
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.reader import find_segments
from namekeeper.journal.reading.verify import verify
from tests.support.journal.checksums import with_new_checksums
from tests.unit.journal.disk_parts import Feeder, lines_in, writer_on


class Made:
    """A journal of some boots, made with the real writer."""

    def __init__(self, folder):
        self.folder = folder
        self.wall_ms = 1_700_000_000_000

    def boot(
        self, changes: int = 3, *, stops: bool = True, is_closed: bool = True, more=(), observed_addr=""
    ):
        """One boot; returns its writer."""
        self.wall_ms += 1_000_000
        feeder = Feeder(wall_ms=self.wall_ms)
        writer = writer_on(os, feeder.backlog, str(self.folder))
        writer.step(feeder.now)
        feeder.begin(writer.opened, rows=2, observed_addr=observed_addr)
        for _ in range(changes):
            feeder.change(2)
        for record in more:
            feeder.put(record)
        if stops:
            feeder.put(ServerStopped(last_seq=feeder.seq + 1))
        writer.step(feeder.now)
        if is_closed:
            writer.close(feeder.now)
        return writer

    def rewrite(self, number: int, change):
        """Change the text of a sealed segment."""
        name = find_segments(str(self.folder))[number]
        path = self.folder / str(name)
        lines = gzip.decompress(path.read_bytes()).split(b"\n")
        change(lines)
        path.write_bytes(gzip.compress(b"\n".join(lines)))

    def verify(self):
        return verify(str(self.folder))


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path)


def altered(line, old, new):
    """As another writer would have written it: with a right checksum."""
    return with_new_checksums(line.replace(old, new)).removesuffix(b"\n")


def problems(report):
    return [(problem.line, problem.what) for problem in report.problems]


def test_a_whole_journal_is_whole(made):
    made.boot()
    made.boot()
    report = made.verify()
    assert report.is_complete
    assert (report.namesrv, report.segments, report.lost_records) == ("ns_9876", 2, 0)
    assert [
        (b.first_seq, b.last_seq, b.records, b.complete_checkpoints, b.is_stopped) for b in report.boots
    ] == [(1, 12, 12, 1, True)] * 2


def test_while_it_is_written_its_last_change_may_be_under_way(made):
    made.boot(stops=False, is_closed=False)
    (name,) = find_segments(str(made.folder))
    with (made.folder / str(name)).open("ab") as file:
        file.write(b'{"kind":"clu')
    release = take_lock(str(made.folder))
    report = made.verify()
    assert report.is_being_written
    assert report.is_complete
    release()
    assert not made.verify().is_complete
    assert problems(made.verify()) == [(12, "torn: no line feed ends it")]


def test_a_boot_that_did_not_stop_in_order_may_have_lost_its_end(made):
    made.boot(stops=False)
    made.boot()
    report = made.verify()
    assert not report.is_complete
    assert [boot.is_stopped for boot in report.boots] == [False, True]
    assert report.lost_records == 0


def test_a_period_of_observation_ends_without_a_stop_and_loses_nothing(made):
    made.boot(stops=False, observed_addr="a:9876")
    made.boot(stops=False, observed_addr="a:9876")
    report = made.verify()
    assert [(boot.is_stopped, boot.is_observed) for boot in report.boots] == [(False, True)] * 2
    assert report.is_complete
    assert not [line for line in verify_lines(report) if "orderly" in line]


def test_holes_are_reported_with_their_numbers(made):
    made.boot(5)
    made.rewrite(0, lambda lines: lines.__delitem__(slice(5, 9)))
    report = made.verify()
    assert (report.lost_records, report.boots[0].holes) == (4, [(6, 9)])
    assert not report.is_complete


def test_a_lost_segment_at_the_end_of_a_boot_is_known_from_the_next(made):
    made.boot()
    made.boot()
    made.rewrite(0, lambda lines: lines.__delitem__(slice(7, 12)))
    report = made.verify()
    assert report.boots[0].holes == [(8, 12)]
    made.boot()
    (_, second, _) = find_segments(str(made.folder))
    (made.folder / str(second)).unlink()
    assert any("the boot before, " in what for _, what in problems(made.verify()))


def test_a_change_without_its_end_is_reported(made):
    made.boot()
    made.rewrite(0, lambda lines: lines.__delitem__(10))  # a change of two loses its end
    report = made.verify()
    assert any("of an incomplete change" in what for _, what in problems(report))
    assert report.boots[0].holes == [(10, 11)]


def test_a_checkpoint_whose_counts_are_not_met_is_incomplete(made):
    made.boot()

    def count_more(lines):
        lines[4] = altered(lines[4], b'"cluster":2', b'"cluster":3')

    made.rewrite(0, count_more)
    boot = made.verify().boots[0]
    assert (boot.complete_checkpoints, boot.incomplete_checkpoints) == (0, 1)


def test_a_checkpoint_with_a_hole_is_incomplete(made):
    made.boot()
    made.rewrite(0, lambda lines: lines.__delitem__(2))
    boot = made.verify().boots[0]
    assert (boot.complete_checkpoints, boot.incomplete_checkpoints, boot.holes) == (0, 1, [(3, 3)])


@pytest.mark.parametrize(
    ("line", "what"),
    [(b"\0" * 64, "64 NUL bytes"), (b"garbage", "no record"), (b'{"kind":1}', "no record")],
)
def test_broken_lines_are_reported(made, line, what):
    made.boot()
    made.rewrite(0, lambda lines: lines.insert(6, line))
    assert any(number == 7 and what in text for number, text in problems(made.verify()))


def test_a_torn_file_is_reported(made):
    made.boot(50)
    (name,) = find_segments(str(made.folder))
    path = made.folder / str(name)
    path.write_bytes(path.read_bytes()[:-100])
    texts = [what for _, what in problems(made.verify())]
    assert any(what.startswith("torn: ") for what in texts)
    assert any("its name says that it ends with" in what for what in texts)


def test_records_of_a_newer_version_are_counted(made):
    made.boot()
    made.rewrite(0, lambda lines: lines.__setitem__(7, altered(lines[7], b'"v":1', b'"v":2')))
    report = made.verify()
    assert (report.unknown_versions, report.lost_records) == (1, 0)
    assert not report.is_complete


def test_another_uuid_is_reported(made):
    made.boot()
    made.rewrite(0, lambda lines: lines.__setitem__(0, altered(lines[0], b'"uuid":"', b'"uuid":"x')))
    assert "that of the folder" in problems(made.verify())[0][1]


def test_what_was_put_aside_is_named(made):
    made.boot(is_closed=False)
    (name,) = find_segments(str(made.folder))
    with (made.folder / str(name)).open("ab") as file:
        file.write(b"torn")
    made.boot()
    report = made.verify()
    assert report.quarantined == [str(name).replace(".open", ".torn")]
    assert report.is_complete


def test_what_was_written_twice_counts_once(made):
    made.boot()
    name = str(find_segments(str(made.folder))[0])
    lines = gzip.decompress((made.folder / name).read_bytes()).split(b"\n")
    again = name.replace("000000000001-000000000012", "000000000012-000000000012")
    (made.folder / again).write_bytes(gzip.compress(lines[11] + b"\n"))
    report = made.verify()
    assert report.is_complete
    assert report.boots[0].records == 12


def test_many_problems_are_counted(made, monkeypatch):
    monkeypatch.setattr("namekeeper.journal.reading.verify_report.MAX_PROBLEMS", 3)
    made.boot()
    made.rewrite(0, lambda lines: lines.extend([b"x", b"\0"] * 5))
    report = made.verify()
    assert len(report.problems) == 3
    assert report.more_problems >= 6


def test_lines_in_a_row_with_the_same_problem_are_one_problem(made):
    made.boot(5)
    made.rewrite(0, lambda lines: lines.__setitem__(slice(6, 6), [b"x"] * 2_000))
    (problem,) = [each for each in made.verify().problems if not each.is_consequence]
    assert (problem.line, problem.lines) == (7, 2_000)


def test_a_line_that_does_not_count_because_of_another_is_a_consequence(made):
    made.boot()
    made.rewrite(0, lambda lines: lines.__setitem__(10, b"garbage"))  # a change of two loses its end
    found = {problem.line: problem.is_consequence for problem in made.verify().problems if problem.line}
    assert found == {10: True, 11: False}


def test_what_is_no_journal_is_refused(tmp_path):
    with pytest.raises(JournalError):
        verify(str(tmp_path))


def test_an_altered_line_is_reported_in_an_open_segment_too(made):
    made.boot(is_closed=False)
    (name,) = find_segments(str(made.folder))
    path = made.folder / str(name)
    path.write_bytes(path.read_bytes().replace(b'"cluster":"c7.0"', b'"cluster":"c7.1"'))
    report = made.verify()
    assert (8, "altered: its checksum is not that of its bytes") in problems(report)
    assert report.boots[0].holes == [(8, 9)]


def test_a_segment_whose_checksums_were_removed_is_reported(made):
    made.boot()

    def remove(lines):
        lines[:] = [re.sub(rb',"crc":"\w{8}"', b"", line) for line in lines]

    made.rewrite(0, remove)
    assert problems(made.verify())[0] == (1, "its checksum was removed: its boot writes checksums")


def test_a_missing_beginning_is_told_unless_retention_recorded_that_it_deleted_it(made):
    for _ in range(3):
        made.boot()
    first, second, _ = find_segments(str(made.folder))
    (made.folder / str(first)).unlink()
    found = made.verify()
    assert not found.is_complete
    assert problems(found) == [
        (0, f"what came before it is missing, up to seq 12 of boot {first.boot}: retention did not delete it, as far as is recorded")
    ]  # fmt: skip
    made.boot(more=[SegmentsDeleted(segments=[str(first)], bytes=1, reason="size")])
    assert made.verify().is_complete
    (made.folder / str(second)).unlink()
    assert not made.verify().is_complete


def test_a_folder_that_was_emptied_while_a_server_wrote_is_not_whole(made):
    made.boot(is_closed=False)
    lines = [line.data for line in lines_in(made.folder)]
    (name,) = find_segments(str(made.folder))
    (made.folder / str(name)).unlink()
    later = structs.replace(name, first_seq=8, last_seq=12, form="")
    (made.folder / str(later)).write_bytes(b"".join(line + b"\n" for line in lines[7:]))
    report = made.verify()
    assert report.lost_records == 0
    assert "what came before it is missing, up to seq 7" in problems(report)[0][1]


def last_boot(made):
    return made.verify().boots[-1]


@pytest.fixture
def two_boots(tmp_path):
    made = Made(tmp_path / "9876")
    made.boot()
    made.boot()
    return made


def test_a_folder_that_was_emptied_and_written_again_is_not_complete(two_boots):
    newest = last_boot(two_boots)
    for path in two_boots.folder.iterdir():
        path.unlink()
    with pytest.raises(JournalError, match=f"was emptied: boot {newest.boot} of ns_9876 was there up to seq"):
        two_boots.verify()
    two_boots.boot()
    report = two_boots.verify()
    missing = f"what came before it is missing, up to seq {newest.last_seq} of boot {newest.boot}"
    assert any(what.startswith(missing) for _, what in problems(report))
    assert not report.is_complete


def test_so_is_one_without_its_segments_whether_or_not_its_identity_stays(two_boots):
    uuid = two_boots.verify().uuid
    for keeps in (lambda name: name == "identity.json", lambda name: name.startswith(".")):
        for path in two_boots.folder.iterdir():
            if not keeps(path.name):
                path.unlink()
        two_boots.boot()
        report = two_boots.verify()
        assert (report.is_complete, report.uuid) == (False, uuid)


def test_the_newest_boot_is_missed_when_its_segments_are_gone_before_the_next_start_and_after(two_boots):
    newest = last_boot(two_boots)
    (two_boots.folder / str(find_segments(str(two_boots.folder))[-1])).unlink()
    what = f"boot {newest.boot} is missing, which was here up to seq {newest.last_seq} at least"
    assert problems(two_boots.verify()) == [(0, what)]
    two_boots.boot()
    assert problems(two_boots.verify()) == [(1, f"the boot before, {newest.boot}, is missing")]
    assert not two_boots.verify().is_complete


def test_the_end_of_the_newest_boot_is_missed(two_boots):
    newest = last_boot(two_boots)
    two_boots.rewrite(1, lambda lines: lines.__delitem__(slice(7, 12)))
    report = two_boots.verify()
    assert report.boots[-1].holes == [(8, newest.last_seq)]
    assert report.lost_records == newest.last_seq - 7


def test_a_folder_whose_newest_boot_nobody_noted_says_so(two_boots):
    last_boot_path(str(two_boots.folder)).unlink()
    report = two_boots.verify()
    assert (report.is_complete, report.knows_last_boot) == (True, False)
    two_boots.boot()
    assert two_boots.verify().knows_last_boot


@pytest.mark.parametrize("at", range(0, 100, 7))
def test_a_note_that_was_altered_is_told_and_never_believed(two_boots, at):
    path = last_boot_path(str(two_boots.folder))
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 4
    path.write_bytes(data)
    assert problems(two_boots.verify()) == [
        (0, "it can't be read: whether whole boots were removed is not known")
    ]
    assert two_boots.boot().opened.boot == two_boots.wall_ms
    assert two_boots.verify().is_complete


@pytest.mark.parametrize("change", [{"namesrv": "another"}, {"uuid": "01234567-89ab-cdef-0123-456789abcdef"}])
def test_a_note_of_another_journal_is_told_and_never_believed(two_boots, change):
    path = last_boot_path(str(two_boots.folder))
    note = msgspec.json.decode(path.read_bytes(), type=LastBoot)
    later = structs.replace(note, boot=note.boot + 1, **change)
    path.write_bytes(with_checksum(msgspec.json.encode(later)))
    assert problems(two_boots.verify()) == [
        (0, f"what was here was another journal: {later.uuid} of {later.namesrv}")
    ]
    assert two_boots.boot().opened.previous_boot == note.boot
    assert two_boots.verify().is_complete


def test_the_newest_boot_is_missed_without_identity_too(two_boots):
    newest = last_boot(two_boots)
    (two_boots.folder / "identity.json").unlink()
    (two_boots.folder / str(find_segments(str(two_boots.folder))[-1])).unlink()
    what = f"boot {newest.boot} is missing, which was here up to seq {newest.last_seq} at least"
    assert problems(two_boots.verify()) == [(0, what)]


def test_a_segment_of_another_journal_beside_is_told(two_boots, tmp_path):
    other = Made(tmp_path / "other")
    other.boot()
    (name,) = find_segments(str(other.folder))
    shutil.copy(other.folder / str(name), two_boots.folder)
    report = two_boots.verify()
    (problem,) = report.problems
    assert (problem.file, report.is_complete, report.segments) == (str(name), False, 2)
    assert problem.what.startswith("another journal wrote it, and nothing here was read")
