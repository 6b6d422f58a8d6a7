"""Whether a test can have a root, users and a host of its own, by namespaces of Linux."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from tests.support.system.waiting import PATIENCE

__all__ = ["why_no_namespaces"]


def why_no_namespaces(programs: Sequence[str], probe: Sequence[str]) -> str:
    """Why a test can't run here; empty if it can.

    Args:
        programs: what it calls.
        probe: a command that needs the same namespaces, and does nothing in them.
    """
    if os.getuid() != 0:
        return "needs root"
    if missing := [each for each in programs if shutil.which(each) is None]:
        return f"needs {' and '.join(missing)}"
    done = subprocess.run(probe, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    return f"no namespaces: {done.stderr.strip()}" if done.returncode else ""
