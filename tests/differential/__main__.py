"""`python -m tests.differential`: compare namekeeper with Java's name servers; exit 1 on any unlisted difference."""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.differential.differences import DIFFERENCES, NORMALISERS
from tests.differential.play import RunCounts
from tests.differential.report import write_page
from tests.differential.runner import Failure, Plan, run, show_differences, shrink
from tests.differential.servers import OURS
from tests.differential.steps import Ask, Expire, Restart, Step

SHARES = {"5.5.0": 0.55, "5.3.3": 0.3, "4.9.7": 0.075, "4.8.0": 0.075}
NEWEST = next(iter(SHARES))
"""The version of the examples of listed differences: older ones do not have all requests."""
LEAST_PER_STEP = 100
MANY = 90_000
"""From this number of requests on, a step of the rules that was hardly taken is a failure of the generator."""


def main() -> int:
    """Run; return the exit status."""
    options = _options()
    if options.write_docs:
        write_page()
        return 0
    versions = options.versions.split(",")
    counts, begun = RunCounts(), time.monotonic()
    print(f"seed {options.seed}", flush=True)
    if not options.java_only and (hidden := show_differences(NEWEST)):
        print(f"listed differences that their examples do not show: {', '.join(hidden)}")
        return 1
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for done, failure in pool.map(run, _plans(versions, options)):
            counts.add(done)
            if failure is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                return _fail(failure, options)
    _print_run_counts(counts, time.monotonic() - begun)
    return _check_steps(counts, options)


def _plans(versions: Sequence[str], options: argparse.Namespace) -> list[Plan]:
    whole = sum(SHARES.get(version, 0.1) for version in versions)
    return [
        Plan(
            releases=(version,) if options.java_only else (version, OURS),
            requests=round(options.requests * SHARES.get(version, 0.1) / whole),
            seed=options.seed,
            first=options.first,
        )
        for version in versions
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument(
        "--requests", type=int, default=100_000, help="over all versions (default: %(default)s)"
    )
    parser.add_argument(
        "--versions", default=",".join(SHARES), help="of Java's name server (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", default=str(random.SystemRandom().randrange(10**9)), help="for the same run again"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument(
        "--java-only", action="store_true", help="compare each version of Java with its model alone"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="pairs of servers at a time (default: %(default)s)"
    )
    parser.add_argument("--shrink", action="store_true", help="on failure, look for a shorter sequence")
    parser.add_argument(
        "--write-docs", action="store_true", help="make docs/compatibility.md from the list, and end"
    )
    return parser.parse_args()


def _fail(failed: Failure, options: argparse.Namespace) -> int:
    again = f"--seed {options.seed} --first {failed.index} --versions {failed.plan.releases[0]} --requests 1"
    print(
        f"DIFFERENCE in sequence {failed.index} against {failed.plan.releases[0]}:\n{failed.text}\nagain with: {again}"
    )
    if options.shrink:
        for step in shrink(failed, print):
            print(_shown(step))
    return 1


def _shown(step: Step) -> str:
    if isinstance(step, Restart):
        return f"  restart, restoreRoutes={str(step.restore_routes).lower()}"
    if not isinstance(step, Ask | Expire):
        return f"  close {step.conn}"
    request = step.request
    return f"  {step.conn}: {request.code} {request.fields} version {request.version} {request.body!r}"


def _print_run_counts(counts: RunCounts, seconds: float) -> None:
    total = counts.requests + counts.questions
    print(
        f"{counts.requests} requests, {counts.on_equal_tables} of them on equal tables; {counts.questions} questions about"
    )
    print(f"the state; {total} answers compared in {seconds:.0f} s, {total / seconds:.0f} a second")
    _print_counts("requests", counts.labels)
    _print_counts("steps of protocol.md 4", counts.steps)
    _print_counts("listed differences: answers", counts.answers)
    _print_counts("listed differences: times that the rule had an effect", counts.effects)
    _print_counts("normalisers", Counter({name: counts.normalised[name] for name in NORMALISERS}))


def _print_counts(title: str, counts: Counter[str]) -> None:
    print(f"{title}:")
    for name, count in sorted(counts.items()):
        print(f"  {count:8} {name}")


def _check_steps(counts: RunCounts, options: argparse.Namespace) -> int:
    rare = {name: count for name, count in counts.steps.items() if 0 < count < LEAST_PER_STEP}
    unseen = [] if options.java_only else [name for name in DIFFERENCES if not counts.answers[name]]
    if counts.requests < MANY or not (rare or unseen):
        return 0
    print(f"taken less than {LEAST_PER_STEP} times: {rare}; differences that never showed: {unseen}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
