"""Runs the pipeline where only pyspark and pyarrow are: spark-submit, `python -m namekeeper.pipeline`."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cache

from namekeeper.common.durations import parse_duration_ms
from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.failures import failures_of_spark, hush_interrupts
from namekeeper.pipeline.job import run_job
from namekeeper.pipeline.run import Request
from namekeeper.pipeline.session import get_session, stop_session

__all__ = ["main"]

_EXIT_REFUSED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with the arguments of the command line; returns the exit code."""
    given = _parser().parse_args(arguments)
    request = Request(
        given.journal, given.warehouse, given.report_time_zone,
        dict(part.split("=", 1) for part in given.take), given.tables, given.check,
    )  # fmt: skip
    steps: list[str] = []

    def show(what: str, _done: int, total: int) -> None:
        if steps[-1:] != [what]:
            steps.append(what)
            _say(f"{what} ({total})" if total > 1 else what)

    hush_interrupts()
    session = cache(lambda: get_session(remote=given.remote))
    try:
        with failures_of_spark():
            return run_job(request, session, show, _say, watch_ms=given.watch)
    except PipelineError as error:
        _say(f"namekeeper pipeline: {error}")
        return _EXIT_REFUSED
    finally:
        if session.cache_info().currsize:
            stop_session(session())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("namekeeper-pipeline", description="Journals of name servers to tables.")
    parser.add_argument("--journal", action="append", required=True, help="URI of a folder with segments")
    parser.add_argument("--warehouse", required=True, help="URI of the warehouse")
    parser.add_argument(
        "--tables", metavar="FORMAT:CATALOG.NAMESPACE", help="tables of a new one in a catalog"
    )
    parser.add_argument("--report-time-zone", help="zone that defines a day, for a new warehouse")
    parser.add_argument(
        "--take", action="append", default=[], metavar="NAMESRV=UUID8", type=_choice,
        help="which journal of a name server is right",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true", help="check the tables after it")
    parser.add_argument("--watch", type=_interval, metavar="60s", help="run again and again")
    parser.add_argument(
        "--remote", default=os.environ.get("SPARK_REMOTE"), help="Spark Connect, sc://host:port"
    )
    return parser


def _choice(text: str) -> str:
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not like NAMESRV=UUID8")
    return text


def _interval(text: str) -> int:
    try:
        return parse_duration_ms(text, above_zero=True)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
