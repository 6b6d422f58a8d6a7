"""Commands with RocketMQ's names work through a shell, by any path and through any links (docs/decisions/0025)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.system.waiting import PATIENCE

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
NAMES = ("mqadmin", "mqnamesrv", "mqshutdown")
SHELLS = [shell for shell in ("sh", "bash", "dash", "ksh", "zsh", "busybox") if shutil.which(shell)]
SAYS_ITS_ARGUMENTS = '#!/bin/sh\nprintf "%s|" "$@"\n'


@pytest.fixture
def bin_folder(tmp_path):
    """The scripts as pip installs them: a folder with blanks and quotes in its path, and a `namekeeper` that says
    how it was called."""
    folder = tmp_path / "a venv's 'folder'" / "bin"
    folder.mkdir(parents=True)
    for name in NAMES:
        shutil.copy(SCRIPTS / name, folder / name)
    (folder / "namekeeper").write_text(SAYS_ITS_ARGUMENTS)
    (folder / "namekeeper").chmod(0o755)
    return folder


def called(*words, cwd, path="/usr/bin:/bin", **more):
    command = ["busybox", "sh", *words[1:]] if words[0] == "busybox" else words
    return subprocess.run(
        [*map(str, command)], cwd=cwd, env={"PATH": path, **more}, capture_output=True, text=True,
        timeout=60 * PATIENCE, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_rocketmq_works_through_a_shell(bin_folder, shell, name):
    done = called(shell, name, "-n", "a b", "", "'", cwd=bin_folder)
    assert (done.stdout, done.stderr) == (f"{name}|-n|a b||'|", "")


@pytest.mark.parametrize("shell", ["", "sh", "bash"])
def test_a_command_is_found_by_any_path_and_from_any_folder(bin_folder, tmp_path, shell):
    prefix = [shell] if shell else []
    relative = Path("..") / bin_folder.relative_to(tmp_path) / "mqadmin"
    (tmp_path / "elsewhere").mkdir()
    for path in (bin_folder / "mqadmin", relative):
        assert called(*prefix, path, "x", cwd=tmp_path / "elsewhere").stdout == "mqadmin|x|"
    assert called(*prefix, "bin/mqadmin", "x", cwd=bin_folder.parent).stdout == "mqadmin|x|"
    assert called(*prefix, "./mqadmin", "x", cwd=bin_folder, CDPATH="/tmp:..").stdout == "mqadmin|x|"


@pytest.mark.parametrize("shell", ["", "sh", "bash"])
def test_a_chain_of_links_leads_to_the_command_whatever_the_links_are_called(bin_folder, tmp_path, shell):
    links = tmp_path / "local" / "bin"
    links.mkdir(parents=True)
    (tmp_path / "home folder").symlink_to(bin_folder.parent)
    (links / "first").symlink_to(Path("../../home folder/bin/mqshutdown"))
    (links / "-n").symlink_to("first")
    (tmp_path / "stop").symlink_to(links / "-n")
    for path in (tmp_path / "stop", links / "-n", links / "first"):
        done = called(*([shell] if shell else []), path, "namesrv", cwd=links)
        assert done.stdout == "mqshutdown|namesrv|"


def test_a_command_is_found_on_the_path(bin_folder, tmp_path):
    for words in (["mqadmin"], ["bash", "mqadmin"]):
        found = called("env", *words, "x", cwd=tmp_path, path=f"{bin_folder}:/usr/bin:/bin")
        assert found.stdout == "mqadmin|x|"


def test_a_copy_elsewhere_runs_what_is_on_the_path_or_says_what_to_do(bin_folder, tmp_path):
    copied = shutil.copy(SCRIPTS / "mqadmin", tmp_path / "mqadmin")
    assert called(copied, cwd="/", path=f"{bin_folder}:/usr/bin:/bin").stdout == "mqadmin|"
    done = called(copied, cwd="/")
    assert done.returncode == 255
    assert done.stderr.count("\n") == 1
    assert "link to this file" in done.stderr


def test_python_runs_the_file_too():
    done = subprocess.run(
        [sys.executable, "-W", "error", SCRIPTS / "mqnamesrv", "-h"], capture_output=True, text=True, check=True,
        timeout=60 * PATIENCE, env=os.environ,
    )  # fmt: skip
    assert done.stdout.startswith("usage: mqnamesrv")


def test_the_scripts_are_one_text_and_installed_by_their_names():
    assert len({(SCRIPTS / name).read_text() for name in NAMES}) == 1
    assert all(os.access(SCRIPTS / name, os.X_OK) for name in NAMES)
