"""The command line of the package."""

from unittest import mock

import pytest

from namekeeper.pipeline.__main__ import main


def test_what_is_refused_is_one_line_and_a_code(tmp_path, capsys):
    assert main(["--journal", str(tmp_path / "nothing"), "--warehouse", str(tmp_path / "w")]) == 2
    assert "is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["--journal", "x"], ["--journal", "x", "--warehouse", "w", "--take", "x"]]
)
def test_a_bad_command_line_is_explained(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert "usage: namekeeper-pipeline" in capsys.readouterr().err


def test_a_java_that_is_dead_is_told_in_one_line(tmp_path, capsys, monkeypatch):
    pytest.importorskip("pyspark")
    gone = mock.Mock(side_effect=ConnectionRefusedError(111, "Connection refused"))
    monkeypatch.setattr("namekeeper.pipeline.__main__.run_job", gone)
    assert main(["--journal", str(tmp_path), "--warehouse", str(tmp_path / "w")]) == 2
    assert capsys.readouterr().err.startswith(
        "namekeeper pipeline: Spark failed: [Errno 111] Connection refused;"
    )
