"""What the commands about the past share."""

import io

import pytest

from namekeeper.cli.history import shown_reading


@pytest.mark.parametrize(("total", "lines"), [(49, 0), (50, 9), (1_005, 10)])
def test_where_there_is_no_terminal_some_lines_tell_how_far_long_reading_is(capsys, total, lines):
    with shown_reading() as tell:
        for done in range(total):
            tell("DIR", done, total)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == lines
    assert all(line.startswith("DIR: ") and line.endswith(f" of {total} segments read") for line in told)


def test_on_a_terminal_there_is_a_bar(monkeypatch, tmp_path):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    with shown_reading() as tell:
        tell("DIR", 1, 2)
    assert "DIR" in terminal.getvalue()
