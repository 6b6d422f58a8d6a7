"""The command line of the package."""

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
