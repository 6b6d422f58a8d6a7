"""`python -m tests.soak.leaking serve ...`: a server that leaks memory and descriptors, to see that a run can fail."""

import os

from namekeeper.app.watching import RouteWatch
from namekeeper.cli.main import main

LEAKED_BYTES = 64 * 1024
_kept: list[tuple[bytearray, int]] = []


def leak() -> None:
    """Have each change of routes leave something behind."""
    changed = RouteWatch.changed

    def leaking(self: RouteWatch, change: object) -> None:
        _kept.append((bytearray(LEAKED_BYTES), os.open(os.devnull, os.O_RDONLY)))
        changed(self, change)  # type: ignore[arg-type]

    RouteWatch.changed = leaking  # type: ignore[method-assign]


if __name__ == "__main__":
    leak()
    main()
