"""`python -m tests.mutants`: exit 1 unless every known bug is caught by a test that passes without it."""

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.catalogue import MUTANTS
from tests.mutants.choice import options, take
from tests.mutants.mutant import Mutant
from tests.mutants.run import (
    MUTANT_SECONDS,
    PASSED,
    TEST_SECONDS,
    Verdict,
    copy_sources,
    run_mutant,
    run_tests,
    that_caught,
)
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
        verdicts = list(_shown(_run_all(chosen, sources, Path(folder))))
        bad = [verdict for verdict in verdicts if verdict.problem is not None]
        for by_limit, seconds in ((False, TEST_SECONDS), (True, MUTANT_SECONDS)):
            tests = that_caught(verdicts, by_limit=by_limit)
            if not tests:
                continue
            if (without := run_tests(sources, tests, timeout=seconds)).status != PASSED:
                print(f"{without.output}\na test that caught a mutant fails without any, too")
                return 1
            how = f"because they took more than {seconds} s take less" if by_limit else "pass"
            print(f"without a mutant the {len(tests)} tests that caught one {how}", flush=True)
    caught = len(chosen) - len(bad)
    print(f"{caught} of {len(chosen)} mutants caught in {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


def _run_all(mutants: Iterable[Mutant], sources: Path, folder: Path) -> Iterator[Verdict]:
    def run(mutant: Mutant) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="mutant-", dir=folder) as own:
            return run_mutant(mutant, sources, Path(own))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(run, mutants)


def _shown(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """The same, each printed on its way."""
    for verdict in verdicts:
        fate = verdict.caught_by if verdict.problem is None else f"*** {verdict.problem}"
        print(f"{verdict.mutant.name:33} {verdict.seconds:5.1f} s  {fate}")
        print(f"{'':33}          {verdict.mutant.rule}", flush=True)
        yield verdict


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
