"""The zip for clusters."""

import subprocess
import sys
import zipfile
from pathlib import Path

from namekeeper.pipeline import package as package_module
from namekeeper.pipeline.package import write_package

SOURCES = Path(package_module.__file__).parents[1]
ALONE = """
import sys
sys.path[:] = [path for path in sys.path if "src" not in path]
sys.meta_path = [each for each in sys.meta_path if "editable" not in repr(each)]
sys.path.insert(0, sys.argv.pop(1))
"""
"""Lets a process import from the zip only, and no part of this package from elsewhere."""


def run_alone(tmp_path: Path, package: Path, code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ALONE + code, str(package), *arguments],
        capture_output=True, text=True, cwd=tmp_path, check=False, env={},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_runs_from_the_zip_alone(tmp_path):
    package, main = write_package(tmp_path)
    code = "import runpy; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    assert "--warehouse" in run_alone(tmp_path, package, code, str(main), "--help")


def test_a_page_is_rendered_from_the_zip_alone(tmp_path):
    package, _ = write_package(tmp_path)
    code = """
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.values import Report
assert ".zip" in render_html.__code__.co_filename
print(render_html(Report("UTC", None, None, [], [])))
"""
    assert "<html" in run_alone(tmp_path, package, code)


def test_every_file_of_its_packages_is_in_it(tmp_path):
    names = set(zipfile.ZipFile(write_package(tmp_path)[0]).namelist())
    files = [SOURCES / "__init__.py"]
    files += [
        file for folder in ("common", "pipeline") for file in (SOURCES / folder).rglob("*") if file.is_file()
    ]
    wanted = {f"namekeeper/{file.relative_to(SOURCES).as_posix()}" for file in files if file.suffix != ".pyc"}
    assert names == wanted
    assert "namekeeper/pipeline/report/templates/report.html.j2" in names


def test_the_same_package_is_the_same_bytes(tmp_path):
    one, two = write_package(tmp_path / "1")[0], write_package(tmp_path / "2")[0]
    assert one.read_bytes() == two.read_bytes()
