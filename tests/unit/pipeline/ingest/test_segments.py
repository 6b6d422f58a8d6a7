"""Which files are sealed segments, and which folders are journals."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.segment_names import SEGMENT_NAME
from namekeeper.pipeline.errors import JournalFolderError
from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.segments import Segment, list_segments, parse_segment

NAME = "host-1_9876-0a1b2c3d-1772323200000-000000000001-000000000100.jsonl.gz"


def test_a_name_says_what_is_in_it():
    assert parse_segment(File(f"a/{NAME}", 7), "file:///j") == Segment(
        "host-1_9876", "0a1b2c3d", 1_772_323_200_000, 1, 100, True, 7, "file:///j", f"a/{NAME}"
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        NAME.replace("-000000000100.jsonl.gz", ".jsonl.open"),
        NAME + ".part",
        "copy of " + NAME,
        NAME.replace("000000000100", "000000000000"),
        NAME.replace("000000000001-", "000000000000-"),
        NAME.replace("0a1b2c3d", "0A1B2C3D"),
        NAME.replace("host", "-host"),
        "x.jsonl",
        "",
    ],
)
def test_other_names_are_no_sealed_segment(name):
    assert parse_segment(File(name), "j") is None


@given(st.from_regex(SEGMENT_NAME, fullmatch=True) | st.text("abc-.0123456789jsonlgz_", max_size=90))
def test_the_quick_way_to_read_a_name_agrees_with_the_pattern(name):
    match = SEGMENT_NAME.fullmatch(name)
    wanted = None
    if (
        match
        and match["last_seq"]
        and match["form"] != ".open"
        and 1 <= int(match["first_seq"]) <= int(match["last_seq"])
    ):
        numbers = [int(match[group]) for group in ("boot", "first_seq", "last_seq")]
        wanted = (match["namesrv"], match["uuid8"], *numbers, match["form"] == ".gz")
    found = parse_segment(File(name), "j")
    assert (found and found[:6]) == wanted


def test_a_folder_and_those_below_it_are_looked_through(tmp_path: Path):
    for path in ("one", "two/three", "quarantine", ".hidden", "_temporary"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / NAME.replace("host", path[:3].strip("._"))).write_bytes(b"12345")
    (tmp_path / "identity.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("mine")
    listing = list_segments([open_folder(str(tmp_path))])
    assert sorted(segment.path.split("/")[0] for segment in listing.segments) == ["one", "two"]
    assert (listing.ignored, listing.empty) == (1, [])


def test_a_journal_without_a_sealed_segment_is_empty(tmp_path: Path):
    (tmp_path / "identity.json").write_text("{}")
    folder = open_folder(str(tmp_path))
    assert list_segments([folder]).empty == [folder.uri]
    (tmp_path / "identity.json").unlink()
    assert list_segments([folder]).empty == [folder.uri]


def test_a_folder_of_other_files_is_no_journal(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(JournalFolderError, match=r"not a journal: it has 1 files.*journalPath"):
        list_segments([open_folder(str(tmp_path))])


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(JournalFolderError, match="is no folder"):
        list_segments([open_folder(str(tmp_path / "nowhere"))])


def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(JournalFolderError, match="may this user read it"):
        list_segments([open_folder(str(tmp_path))])
