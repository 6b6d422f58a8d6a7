"""`python -m tests.attacks`: what one or a few peers can do to a name server, measured; exit 1 beyond a limit."""

import argparse
import sys

from tests.attacks.rows import ROWS
from tests.attacks.run import run_row
from tests.attacks.verdict import HEAD, complaints, line

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    options = _parser().parse_args(arguments)
    print(HEAD, flush=True)
    beyond = []
    for key in options.row or ROWS:
        measured = run_row(ROWS[key], scale=options.scale)
        print(line(ROWS[key], measured), flush=True)
        if complaints(ROWS[key], measured):
            beyond.append(key)
    if beyond:
        print(f"beyond the limits: {', '.join(beyond)}", file=sys.stderr)
    return 1 if beyond else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--row", action="append", choices=list(ROWS), help="only this one; may be repeated")
    parser.add_argument("--scale", type=float, default=1.0, help="more or less of each attack (default 1)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
