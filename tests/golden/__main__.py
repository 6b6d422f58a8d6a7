"""`python -m tests.golden`: stores what the present code answers, or writes the journals or the warehouse again."""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.golden.questions import ANSWERS, EXPECTED, FRAMES, JOURNALS, WAREHOUSE
from tests.golden.recorded_frames import SEEDS, write_requests
from tests.golden.written_journals import write_journals
from tests.golden.written_warehouse import DAMAGED, write_damaged_segments, write_warehouse

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Do what the options say; without one, print at the end which answers differ from the stored ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the answers")
    parser.add_argument(
        "--write-journal",
        action="store_true",
        help="write the journals again: they show no more what old code wrote",
    )
    parser.add_argument(
        "--write-warehouse", action="store_true", help="make the warehouse again, with Spark: the same holds"
    )
    parser.add_argument("--write-frames", action="store_true", help="make the requests of the frames again")
    options = parser.parse_args(words)
    if options.write_journal:
        shutil.rmtree(JOURNALS, ignore_errors=True)
        JOURNALS.mkdir()
        write_journals(JOURNALS)
        write_damaged_segments(JOURNALS / DAMAGED)
    if options.write_warehouse:
        _make_warehouse()
    if options.write_frames:
        FRAMES.mkdir(exist_ok=True)
        for seed in SEEDS:
            write_requests(FRAMES / f"{seed}.txt", seed)
    different = []
    for name, answer in ANSWERS.items():
        file, found = EXPECTED / name, answer()
        if not file.exists() or file.read_text() != found:
            different.append(name)
            if options.write:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(found)
    # At the end: the log lines of the name server that answers the frames come before.
    what = "stored" if options.write else "different"
    print(f"answers that are {what}: {', '.join(different) or 'none'}")


def _make_warehouse() -> None:
    from namekeeper.pipeline.local_session import local_session

    shutil.rmtree(WAREHOUSE, ignore_errors=True)
    spark = local_session("local[1]", {"spark.sql.shuffle.partitions": "1"})
    with tempfile.TemporaryDirectory() as scratch:
        write_warehouse(spark, JOURNALS, WAREHOUSE, Path(scratch))
    spark.stop()


if __name__ == "__main__":
    main()
