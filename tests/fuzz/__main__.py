"""`python -m tests.fuzz`: every target for its share of a minute; exit code 1 with a way to repeat it."""

import argparse
import sys
import traceback

from tests.fuzz.engine import ContractBrokenError, fuzz, try_input
from tests.fuzz.targets import TARGETS

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    names = [options.target] if options.target else list(TARGETS)
    if options.guided:
        from tests.fuzz import guided

        guided.run(names[0], seconds=options.seconds, seed=options.seed)
    try:
        if options.input is not None:
            try_input(names[0], bytes.fromhex(options.input))
        else:
            _run(names, options)
    except ContractBrokenError as failure:
        traceback.print_exception(failure.__cause__)
        print(failure, file=sys.stderr)
        return 1
    return 0


def _run(names: list[str], options: argparse.Namespace) -> None:
    for name in names:
        count = fuzz(name, seconds=options.seconds / len(names), seed=options.seed, most=options.inputs)
        print(f"{name}: {count} inputs, nothing found", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Fuzz the parsers for a bounded time."
    )
    parser.add_argument(
        "--seconds", type=float, default=60, help="in all, shared by the targets (default: 60)"
    )
    parser.add_argument(
        "--inputs",
        type=int,
        metavar="COUNT",
        help="at most so many of each target: the same on every machine",
    )
    parser.add_argument("--target", choices=sorted(TARGETS), help="only this one")
    parser.add_argument("--seed", type=int, default=1, help="another number gives other inputs (default: 1)")
    parser.add_argument("--input", metavar="HEX", help="feed one input to --target")
    parser.add_argument(
        "--guided", action="store_true", help="by atheris, if it is installed; needs --target"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
