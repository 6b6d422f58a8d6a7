"""What may not be in an artifact is found; the sources of one are what git knows."""

import io
import subprocess
import tarfile
import zipfile

import pytest

from tests.release.artifacts import BuildError, build, copy_tracked, members, problems

TRACKED = {"src/namekeeper/__init__.py", "src/namekeeper/py.typed", "README.md", "scripts/mqadmin"}
WHEEL = {
    "namekeeper/__init__.py": b"", "namekeeper/py.typed": b"", "namekeeper-1.dist-info/RECORD": b"",
    "namekeeper-1.data/scripts/mqadmin": b"",
}  # fmt: skip
SDIST = {"src/namekeeper/__init__.py": b"", "src/namekeeper/py.typed": b"", "PKG-INFO": b"", "README.md": b""}


@pytest.mark.parametrize(("name", "content"), [("n-1-py3-none-any.whl", WHEEL), ("n-1.tar.gz", SDIST)])
def test_what_belongs_there_is_fine(name, content):
    assert problems(name, content, tracked=TRACKED, paths={"/home/me"}) == []


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("n.whl", WHEEL | {"tests/x.py": b""}, "n.whl: tests/x.py is no file of the repository"),
        ("n.whl", WHEEL | {"n-1.data/scripts/x": b""}, "n.whl: n-1.data/scripts/x is no file of the repository"),
        ("n.tar.gz", SDIST | {"build/log": b""}, "n.tar.gz: build/log is no file of the repository"),
        ("n.whl", WHEEL | {"namekeeper/__init__.py": b"# /home/me/src"}, "n.whl: namekeeper/__init__.py names /home/me"),
        ("n.whl", {"namekeeper/__init__.py": b""}, "n.whl: namekeeper/py.typed is missing"),
    ],
)  # fmt: skip
def test_what_does_not_is_named(name, content, problem):
    assert problems(name, content, tracked=TRACKED, paths={"/home/me"}) == [problem]


def test_both_kinds_are_read(tmp_path):
    wheel, sdist = tmp_path / "n.whl", tmp_path / "n.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("namekeeper/__init__.py", "1")
    with tarfile.open(sdist, "w:gz") as archive:
        info = tarfile.TarInfo("n-1/src/namekeeper/__init__.py")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"1"))
    assert members(wheel) == {"namekeeper/__init__.py": b"1"}
    assert members(sdist) == {"src/namekeeper/__init__.py": b"1"}


def test_only_what_git_knows_is_copied(tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    (source / "a").mkdir(parents=True)
    (source / "a" / "known").write_text("now")
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    subprocess.run(["git", "add", "."], cwd=source, check=True)
    (source / "unknown").touch()
    assert copy_tracked(source, copy) == ["a/known"]
    assert (copy / "a" / "known").read_text() == "now"
    assert not (copy / "unknown").exists()


def test_a_build_that_fails_says_why(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(BuildError, match="the build ended with 1:"):
        build(tmp_path, tmp_path / "dist", epoch="0")
