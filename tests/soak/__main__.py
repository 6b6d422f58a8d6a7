"""`python -m tests.soak`: an hour of a server with page, watchers, churn and scrapes; exit 1 if something grows."""

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
from tests.soak.verdict import Sample, complaints, table
from tests.support.system.processes import free_port

__all__ = ["main"]

HOUR = 3_600.0
SAMPLES = 180
"""Samples of a run."""
HISTORY_BYTES = 8 * 1024 * 1024
"""Full within the first third, also of a short run."""
MIB = 1 << 20


def main(arguments: list[str] | None = None) -> int:
    """Run for as long as the command line says; return the exit status."""
    options = _parser().parse_args(arguments)
    samples: dict[str, list[Sample]] = {"server": [], "page": []}
    with _served(leaking=options.leaking) as (server, port, http_port), Load(port, http_port) as load:
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            time.sleep(options.seconds / SAMPLES)
            samples["server"].append(_sample(Path(f"/proc/{server.pid}")))
            for console in consoles(server.folder):
                with contextlib.suppress(OSError):
                    samples["page"].append(_sample(console))
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


def _sample(process: Path) -> Sample:
    """What a process has now; OSError if it is gone."""
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
    return Sample(
        memory_mib=int(status["VmRSS"].split()[0]) / 1_024,
        descriptors=sum(1 for _ in (process / "fd").iterdir()),
        threads=int(status["Threads"]),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=HOUR, help="how long it runs (default: an hour)")
    parser.add_argument("--leaking", action="store_true", help="run a server that leaks: it must fail")
    return parser


if __name__ == "__main__":
    sys.exit(main())
