"""Commits that documents name, and those that a tree has."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

__all__ = ["full_history", "lost_commits", "named_commits"]

_HASH = re.compile(r"(?<![\w.-])(?=[a-f]*\d)(?=\d*[a-f])(?:[0-9a-f]{7}|[0-9a-f]{40})(?![\w-]|\.\w)")
"""Seven digits, as git shortens them here, or all; with a letter, or it could be a number, and with a digit."""


def named_commits(text: str) -> list[str]:
    """Return what looks like the hash of a commit."""
    return _HASH.findall(text)


def lost_commits(text: str, history: Iterable[str]) -> list[str]:
    """Return the commits that a text names and the history has not."""
    known = list(history)
    return [name for name in named_commits(text) if not any(commit.startswith(name) for commit in known)]


def full_history(root: Path) -> list[str] | None:
    """Return the hash of each commit up to the present one; None if the tree does not have all of them."""
    if not (root / ".git").exists() or _git(root, "rev-parse", "--is-shallow-repository") != ["false"]:
        return None
    return _git(root, "rev-list", "HEAD")


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.split()
