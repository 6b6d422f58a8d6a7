"""The zip for clusters."""

import subprocess
import sys
import zipfile

from namekeeper.pipeline.package import write_package


def test_it_runs_from_the_zip_alone(tmp_path):
    package, main = write_package(tmp_path)
    names = zipfile.ZipFile(package).namelist()
    assert {name.split("/")[0] for name in names} == {"namekeeper"}
    assert {name.split("/")[1] for name in names} == {"__init__.py", "pipeline"}
    code = (
        "import runpy, sys; sys.path[:] = [path for path in sys.path if 'src' not in path];"
        f"sys.meta_path = [each for each in sys.meta_path if 'editable' not in repr(each)];"
        f"sys.path.insert(0, {str(package)!r}); sys.argv[1:] = ['--help']; runpy.run_path({str(main)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--warehouse" in done.stdout


def test_the_same_package_is_the_same_bytes(tmp_path):
    one, two = write_package(tmp_path / "1")[0], write_package(tmp_path / "2")[0]
    assert one.read_bytes() == two.read_bytes()
