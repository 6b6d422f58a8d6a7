"""`python -m tests.mutants`: exit 1 unless every known bug is caught and the tests pass without any."""

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.catalogue import MUTANTS
from tests.mutants.choice import options, take
from tests.mutants.mutant import Mutant
from tests.mutants.run import PASSED, Verdict, copy_sources, run_mutant, run_tests
from tests.mutants.sql_catalogue import SQL_MUTANTS

AT_ONCE = 2


def main() -> int:
    """Run; return the exit status."""
    chosen = take(MUTANTS, options("python -m tests.mutants", __doc__), others=SQL_MUTANTS)
    if not chosen:
        return 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="namekeeper-mutants-") as folder:
        sources = copy_sources(Path(folder))
        tests = tuple(sorted({test for mutant in chosen for test in mutant.tests}))
        whole = run_tests(sources, tests)
        if whole.status != PASSED:
            print(f"{whole.output}\nthe tests fail without any mutant")
            return 1
        print(f"without a mutant {len(tests)} test modules pass in {whole.seconds:.1f} s", flush=True)
        bad = _print_verdicts(_run_all(chosen, sources, Path(folder)))
    caught = len(chosen) - len(bad)
    print(f"{caught} of {len(chosen)} mutants caught in {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


def _run_all(mutants: Iterable[Mutant], sources: Path, folder: Path) -> Iterator[Verdict]:
    def run(mutant: Mutant) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="mutant-", dir=folder) as own:
            return run_mutant(mutant, sources, Path(own))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(run, mutants)


def _print_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Print a line for each; return those that are no success."""
    bad = []
    for verdict in verdicts:
        fate = verdict.caught_by if verdict.problem is None else f"*** {verdict.problem}"
        print(f"{verdict.mutant.name:33} {verdict.seconds:5.1f} s  {fate}")
        print(f"{'':33}          {verdict.mutant.rule}", flush=True)
        if verdict.problem is not None:
            bad.append(verdict)
    return bad


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
