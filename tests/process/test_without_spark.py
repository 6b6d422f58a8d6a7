"""Where only the server is installed, the commands that need more say what to install, in one line."""

import subprocess
import sys

import pytest

HIDDEN = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "pyarrow", "pandas", "duckdb", "jinja2"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())
from namekeeper.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        ["report"],
        ["report", "--format", "html"],
        ["pipeline", "check"],
        ["why", "orders"],
        ["route-at", "orders"],
    ],
    ids=" ".join,
)
def test_a_command_without_its_packages_ends_with_one_line(tmp_path, command):
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, *command, "--warehouse", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("namekeeper: ")
