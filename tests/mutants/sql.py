"""`python -m tests.mutants.sql`: seed bugs into the pipeline's SQL; exit 1 unless the law catches each of them.

Runs the SQL on DuckDB, where a mutant takes seconds; that Spark makes the same of it is tests/spark/test_law.py's.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import duckdb

from namekeeper.pipeline.gold import sql_text
from namekeeper.pipeline.gold.sql_text import raw_text
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from tests.mutants.catalogue import MUTANTS
from tests.mutants.choice import options, take
from tests.mutants.sql_catalogue import SQL_MUTANTS, SqlMutant
from tests.support.history.histories import histories
from tests.support.history.pieces import arrivals
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.forgotten import assert_forgotten
from tests.support.pipeline.incident_rows import assert_incidents
from tests.support.pipeline.law import Law, records_of
from tests.support.pipeline.quiet_topics import NOTHING_CONFIRMED, QuietServer, history_of
from tests.support.pipeline.topic_views import DRIFTS, drifts_of
from tests.support.pipeline.written_histories import assert_written

__all__ = ["caught_by", "main", "seeded"]

SEED = 1
"""With this one each mutant is caught."""
WORLDS = 30
BLOCK_RECORDS = 16
"""Far fewer than usual: short histories shall have many blocks."""
QUIET_SERVERS = 200
SEED_IN_PIECES = 4
WORLDS_IN_PIECES = 8
"""With these a row ends where late records begin."""


def main() -> int:
    """Run; return the exit status."""
    chosen = take(SQL_MUTANTS, options("python -m tests.mutants.sql", __doc__), others=MUTANTS)
    if not chosen:
        return 0
    law = Law(histories(SEED, WORLDS))
    if (found := caught_by(law, None)) is not None:
        print(f"without a mutant the law is broken: {found}")
        return 1
    survived = 0
    for mutant in chosen:
        begun = time.monotonic()
        found = caught_by(law, mutant)
        survived += found is None
        print(f"{mutant.name:29} {time.monotonic() - begun:5.1f} s  {found or '*** SURVIVED'}")
        print(f"{'':29}          {mutant.rule}", flush=True)
    return 1 if survived else 0


def caught_by(law: Law, mutant: SqlMutant | None) -> str | None:
    """The first rule that does not hold with a mutant; None if all do.

    Raises:
        duckdb.Error: The query with the mutant can't be run at all.
    """
    with seeded(mutant):
        duck = Duck()
        make_gold(duck, duck.load(records_of(law.histories)), block_records=BLOCK_RECORDS)
        for check in _checks(law, duck):
            try:
                check()
            except AssertionError:
                return check.__name__
    return None


@contextmanager
def seeded(mutant: SqlMutant | None) -> Iterator[None]:
    """Let the pipeline find a file with a mutant in it."""

    def text(name: str) -> str:
        return mutant.text() if mutant is not None and mutant.query == name else raw_text(name)

    with mock.patch.object(sql_text, "raw_text", text):
        yield


def _checks(law: Law, duck: Duck) -> Iterator[Callable[[], object]]:
    def states() -> None:
        law.assert_states(duck.gold, random.Random(SEED), instants=40)

    def periods() -> None:
        law.assert_periods(duck.gold)

    def joined() -> None:
        law.assert_joined(duck.gold)

    def known_up_to() -> None:
        law.assert_known_up_to(duck.gold)

    def brokers() -> None:
        law.assert_brokers(duck.gold)

    def topics() -> None:
        law.assert_topics(duck.gold)

    def activity() -> None:
        law.assert_activity(duck.gold)

    def drift() -> None:
        law.assert_drift(duck.gold)

    def views() -> None:
        assert drifts_of(["a", "b"]) == DRIFTS

    def confirmed() -> None:
        rng = random.Random(SEED)
        servers = [QuietServer(f"namesrv-{number}", rng) for number in range(QUIET_SERVERS)]
        found, _ = history_of(servers)
        assert found == history_of(servers, {"checkpoint_run": NOTHING_CONFIRMED})[0]

    def runs() -> None:
        """In whatever runs the records come."""
        some = histories(SEED_IN_PIECES, WORLDS_IN_PIECES)
        at_once, in_pieces = Duck(), Duck()
        make_gold(at_once, at_once.load(records_of(some)))
        for batch in arrivals(some, random.Random(SEED_IN_PIECES), runs=4):
            make_gold(in_pieces, in_pieces.load(batch), block_records=BLOCK_RECORDS)
        assert all(at_once.gold(name) == in_pieces.gold(name) for name in GOLD)

    def incidents() -> None:
        assert_incidents()

    def written() -> None:
        assert_written()

    def forgotten() -> None:
        assert_forgotten()

    yield from (
        incidents,
        written,
        forgotten,
        states,
        periods,
        joined,
        known_up_to,
        brokers,
        topics,
        activity,
        drift,
        views,
        confirmed,
        runs,
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
    except duckdb.Error as error:
        sys.exit(f"a mutant can't be run, so it shows nothing: {error}")
