"""`python -m tests.attacks`: what one or a few peers can do to a name server, measured; exit 1 beyond a limit."""

import argparse
import random
import sys
import time
from collections.abc import Iterator

from tests.attacks.fuzz import KEPT_SEEDS, MIXED, Mix, mixed_row
from tests.attacks.rows import ROWS, Row
from tests.attacks.run import run_row
from tests.attacks.tiers import NOT_IN_CI
from tests.attacks.verdict import HEAD, complaints, line

__all__ = ["main"]

MIX_SECONDS = 15.0
CI_SECONDS = 4.0
"""How long each attack lasts in CI, so that all take some four minutes."""


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    options = _parser().parse_args(arguments)
    print(HEAD, flush=True)
    is_good = _fuzz(options) if options.fuzz else _rows(options)
    return 0 if is_good else 1


def _rows(options: argparse.Namespace) -> bool:
    keys = options.row or [key for key in ROWS if not (options.ci and key in NOT_IN_CI)][options.part]
    beyond = [key for key in keys if not any(_is_within(ROWS[key], options) for _ in range(options.tries))]
    if options.ci:
        for key, reason in NOT_IN_CI.items():
            print(f"left out here: row {key}: {reason}")
    if beyond:
        print(f"beyond the limits: {', '.join(beyond)}", file=sys.stderr)
    return not beyond


def _is_within(row: Row, options: argparse.Namespace) -> bool:
    """Play one row and print its line; return whether it kept the limits."""
    measured = run_row(row, scale=options.scale, seconds=CI_SECONDS if options.ci else None)
    print(line(row, measured, patience=options.patience), flush=True)
    return not complaints(row, measured, patience=options.patience)


def _fuzz(options: argparse.Namespace) -> bool:
    """Play mixes until the time is over; stop at the first that is beyond a limit."""
    end = time.monotonic() + options.fuzz
    for seed in _seeds(options.seed):
        if not any(_mix_is_within(seed, options) for _ in range(options.tries)):
            return False
        if options.seed is not None or time.monotonic() > end:
            break
    return True


def _mix_is_within(seed: int, options: argparse.Namespace) -> bool:
    """Play one mix and print its line; return whether it kept the limits, and say what was done if not."""
    mix = Mix(seed, [key for key in MIXED if not (options.ci and key in NOT_IN_CI)])
    row = mixed_row(min(MIX_SECONDS, options.fuzz))
    measured = run_row(row, onslaught=mix)
    print(line(row, measured, patience=options.patience), flush=True)
    if not complaints(row, measured, patience=options.patience):
        return True
    print(f"seed {seed} is beyond the limits; what was done:", *mix.attacks, sep="\n  ", file=sys.stderr)
    print(f"again: python -m tests.attacks --fuzz {row.seconds:.0f} --seed {seed}", file=sys.stderr)
    return False


def _seeds(chosen: int | None) -> Iterator[int]:
    if chosen is not None:
        yield chosen
        return
    yield from KEPT_SEEDS
    while True:
        yield random.randrange(1, 1_000_000)


def _part(text: str) -> slice:
    """Which of all rows `K/N` means: each is of one of the N parts."""
    first, _, count = text.partition("/")
    if not (first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text} is no part: write 1/2, 2/2 or the like")
    return slice(int(first) - 1, None, int(count))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--row", action="append", choices=list(ROWS), help="only this one; may be repeated")
    parser.add_argument(
        "--part", type=_part, default=slice(None), metavar="K/N",
        help="only every N-th row, from the K-th on: a row leaves much of two cores idle",
    )  # fmt: skip
    parser.add_argument("--scale", type=float, default=1.0, help="more or less of each attack (default 1)")
    parser.add_argument("--ci", action="store_true", help="shorter, and without the rows that CI leaves out")
    parser.add_argument(
        "--tries",
        type=int,
        default=1,
        help="how often a row or mix may be played until it keeps the limits (default 1)",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        help="stretches the limits of time, for a busy machine (default 1)",
    )
    parser.add_argument("--fuzz", type=float, metavar="SECONDS", help="random mixes of the rows instead")
    parser.add_argument("--seed", type=int, help="one mix; without it the kept ones, then others")
    return parser


if __name__ == "__main__":
    sys.exit(main())
