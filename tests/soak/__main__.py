"""`python -m tests.soak`: an hour of a server with page, watchers, churn and scrapes; exit 1 if something grows.

With `--observer`: two hours of an observer of three name servers that are made to disagree; exit 1, too, if it does
not report exactly what they disagreed about.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.pages import consoles
from tests.process.running import NameServerProcess
from tests.soak.load import Load
from tests.soak.observer import watch_an_observer
from tests.soak.verdict import SAMPLES, Sample, complaints, sample_of, table
from tests.support.system.processes import free_port

__all__ = ["main"]

HOUR = 3_600.0
HISTORY_BYTES = 8 * 1024 * 1024
"""Full within the first third, also of a short run."""
MIB = 1 << 20


def main(arguments: list[str] | None = None) -> int:
    """Run for as long as the command line says; return the exit status."""
    options = _parser().parse_args(arguments)
    if options.observer:
        return watch_an_observer(2 * HOUR if options.seconds is None else options.seconds, options.seed)
    return _watch_a_server(HOUR if options.seconds is None else options.seconds, leaking=options.leaking)


def _watch_a_server(seconds: float, *, leaking: bool) -> int:
    samples: dict[str, list[Sample]] = {"server": [], "page": []}
    with _served(leaking=leaking) as (server, port, http_port), Load(port, http_port) as load:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(seconds / SAMPLES)
            samples["server"].append(sample_of(Path(f"/proc/{server.pid}")))
            for console in consoles(server.folder):
                with contextlib.suppress(OSError):
                    samples["page"].append(sample_of(console))
    print(table(samples))
    print("done:", ", ".join(f"{count} x {what}" for what, count in sorted(load.done.items())))
    found = complaints(samples)
    print(*found or ["flat"], sep="\n")
    return 1 if found else 0


@contextlib.contextmanager
def _served(*, leaking: bool) -> Iterator[tuple[NameServerProcess, int, int]]:
    with tempfile.TemporaryDirectory(prefix="namekeeper-soak-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        http_port = free_port()
        flags = {
            "http_port": str(http_port), "journal_path": str(folder / "journal"),
            "console_history_bytes": str(HISTORY_BYTES), "journal_retention_bytes": str(64 * MIB),
            "journal_segment_bytes": str(4 * MIB),
        }  # fmt: skip
        words = (sys.executable, "-m", "tests.soak.leaking", "serve") if leaking else ()
        server = NameServerProcess(folder, serve_as=words, **flags)  # type: ignore[arg-type] # no flag is named so
        with server:
            server.started()
            yield server, int(server.address.rpartition(":")[2]), http_port


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, help="how long it runs (default: an hour; of an observer two)"
    )
    parser.add_argument("--leaking", action="store_true", help="run a server that leaks: it must fail")
    parser.add_argument(
        "--observer", action="store_true", help="run an observer of name servers that disagree"
    )
    parser.add_argument("--seed", type=int, default=0, help="of what they disagree about (default: 0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
