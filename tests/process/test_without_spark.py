"""Where only the server is installed, the commands that need more say what to install, in one line."""

import subprocess
import sys

import pytest

from tests.support.journal.segments import records_of_a_boot, write_segment

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Has a warehouse without tables, and a journal that is not in it."""
    folder = tmp_path_factory.mktemp("without_spark")
    (folder / "journal").mkdir()
    made = hidden(folder, "pipeline", "run", "--journal", "journal")
    assert (made.returncode, made.stdout) == (0, ""), made
    write_segment(folder / "journal", records_of_a_boot("ns_9876", 1, seed=1))
    return folder


def hidden(folder, *command):
    """Run a command where the packages of the pipeline are not installed."""
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *command, "--warehouse", "warehouse"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        ["report"],
        ["report", "--format", "html"],
        ["pipeline", "check"],
        ["pipeline", "run", "--journal", "journal"],
        ["why", "orders"],
        ["route-at", "orders"],
        ["history", "orders"],
    ],
    ids=" ".join,
)
def test_a_command_without_its_packages_ends_with_one_line(folder, command):
    done = hidden(folder, *command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("namekeeper: this needs ")
    assert done.stderr.endswith("pip install 'namekeeper[pipeline]', or with '.[pipeline]' in a clone\n")
