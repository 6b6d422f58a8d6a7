"""`make peers`: fetch Java's releases and build the clients of the interop tests, so that no test waits for a download."""

import sys

from tests.interop.other_languages import CLIENTS
from tests.support.java.artifacts import VERSIONS, available, compiled

__all__ = ["main"]


def main() -> int:
    """Fetch and build; the exit status is 1 if a tool for it is missing."""
    missing = list(filter(None, (available(), *(client.missing() for client in CLIENTS))))
    if not available():
        for version in VERSIONS:
            compiled(version)
            print(f"Java {version} is there", flush=True)
    for client in CLIENTS:
        if not client.missing():
            client.command()
            print(f"the client in {client.language} is there", flush=True)
    for reason in missing:
        print(reason, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
