"""`mqshutdown namesrv`: stop the name servers of this user, with the texts of RocketMQ's own script.

RocketMQ's script looks for Java processes and can't find us.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence

from namekeeper.app.pid_file import running_name_servers
from namekeeper.cli.launch import FAILED, guarded, load_startup, path_of, say

__all__ = ["main"]

_USAGE = "Useage: mqshutdown namesrv [-c FILE] [--log-root FOLDER]"  # the word is the script's own
_STILL_RUNNING = 1
_POLL_SECONDS = 0.05
_GRACE_SECONDS = 15
"""Time of an orderly stop besides the draining, which shutdownWaitTimeSeconds limits."""


def main() -> None:
    """Entry point of the command."""
    sys.exit(guarded(lambda: _main(sys.argv[1:])))


def _main(arguments: Sequence[str]) -> int:
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    is_valid = len(arguments) % 2 == 1 and set(options) <= {"-c", "--log-root"}
    if not is_valid or arguments[0] != "namesrv":
        say(_USAGE)
        return FAILED
    settings = load_startup(options.get("-c"), {"log_root": options.get("--log-root")}).settings
    log_root = path_of(settings, "log_root", instead="--log-root FOLDER")
    pids = running_name_servers(log_root)
    if not pids:
        say("No mqnamesrv running.")
        return FAILED
    for pid in pids:
        say(f"The mqnamesrv({pid}) is running...")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        say(f"Send shutdown request to mqnamesrv({pid}) OK")
    drain = settings.shutdown_wait_time_seconds if settings.enable_shutdown_gracefully else 0
    return _wait(log_root, set(pids), drain + _GRACE_SECONDS)


def _wait(folder: str, pids: set[int], seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while left := pids & set(running_name_servers(folder)):
        if time.monotonic() > deadline:
            print(f"namekeeper: still running after {seconds:g} s: {sorted(left)}", file=sys.stderr)
            return _STILL_RUNNING
        time.sleep(_POLL_SECONDS)
    return 0
