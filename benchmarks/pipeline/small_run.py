"""A process that makes one or several runs, and what the last of them took."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from namekeeper.pipeline.run import Request, run_once
from namekeeper.pipeline.session import get_session

__all__ = ["Figures", "figures_of_process"]

MASTER = "local[2]"


class Figures(NamedTuple):
    """CPU time of the two halves of a process, and what Spark did. For the first run from its start on."""

    java_s: float
    python_s: float
    executions: int
    """Of SQL, the definitions of views among them: these plan, and have no jobs."""
    running: int
    """Executions with jobs."""
    jobs: int
    tasks: int


def figures_of_process(journal: Path, warehouses: Sequence[Path], memory: str) -> Figures:
    """The figures of the last run of a new process; with one warehouse its Java is for a process of one run.

    Args:
        journal: The folder of the new segments.
        warehouses: One for each run; each lacks the segments.
        memory: Heap of Spark.
    """
    command = [sys.executable, "-m", __name__, "--memory", memory, str(journal), *map(str, warehouses)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return Figures(*json.loads(done.stdout))


def main(arguments: Sequence[str]) -> None:
    """Make the runs; print the figures of the last one as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", required=True)
    parser.add_argument("journal")
    parser.add_argument("warehouses", nargs="+")
    options = parser.parse_args(arguments)
    session = cache(lambda: get_session(master=MASTER, conf={"spark.driver.memory": options.memory}))
    before = Figures(0, 0, 0, 0, 0, 0)
    for number, warehouse in enumerate(options.warehouses):
        if number:
            before = _figures(session())
        request = Request([options.journal], warehouse, is_only=len(options.warehouses) == 1)
        run_once(request, session, lambda *_: None)
    after = _figures(session())
    print(json.dumps([end - begin for begin, end in zip(before, after, strict=True)]))
    session().stop()


def _figures(spark: SparkSession) -> Figures:
    java = spark._jvm  # noqa: SLF001 - the counters that Spark publishes are those of its pages, which are off
    context = spark._jsc.sc()  # noqa: SLF001
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()  # noqa: SLF001
    assert java is not None
    times = os.times()
    return Figures(
        _cpu_seconds(java.java.lang.ProcessHandle.current().pid()),
        times.user + times.system,
        executions.size(),
        sum(executions.apply(number).jobs().size() > 0 for number in range(executions.size())),
        context.dagScheduler().numTotalJobs(),
        context.taskScheduler().nextTaskId(),
    )


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = map(int, fields[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(sys.argv[1:])
