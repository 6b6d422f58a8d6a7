"""`namekeeper journal ship`."""

from click.testing import CliRunner

from namekeeper.cli.commands import journal_ship
from namekeeper.cli.commands.journal_ship import ship
from tests.support.journal.segments import records_of_a_boot, write_segment

RECORDS = records_of_a_boot("ns", 1_772_323_200_000, 1)


def test_it_copies_and_says_how_much(tmp_path):
    path = write_segment(tmp_path / "j", RECORDS)
    words = [str(tmp_path / "j"), str(tmp_path / "to")]
    done = CliRunner().invoke(ship, words)
    assert done.exit_code == 0
    assert f"1 segments copied ({path.stat().st_size:,} bytes), 0 were there" in done.stderr
    assert "0 segments copied (0 bytes), 1 were there" in CliRunner().invoke(ship, words).stderr


def test_what_is_no_journal_is_refused(tmp_path):
    done = CliRunner().invoke(ship, [str(tmp_path / "nothing"), str(tmp_path / "to")])
    assert (done.exit_code, "is no folder" in done.stderr) == (2, True)


def test_watching_goes_on_through_errors_and_ends_with_ctrl_c(tmp_path, monkeypatch):
    write_segment(tmp_path / "j", RECORDS[:5])
    waits: list[float] = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 1:
            write_segment(tmp_path / "j", RECORDS[5:])
        elif len(waits) == 2:
            (tmp_path / "j").rename(tmp_path / "gone")
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(journal_ship.time, "sleep", wait)
    done = CliRunner().invoke(ship, [str(tmp_path / "j"), str(tmp_path / "to"), "--watch", "60s"])
    assert done.exit_code == 130
    assert len(list((tmp_path / "to").iterdir())) == 2
    assert "trying again in 1 min" in done.stderr
    assert done.stderr.splitlines()[-1] == "stopped; every copied segment is complete"
    assert waits == [60.0] * 3
