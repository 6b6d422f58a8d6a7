"""Runs on a warehouse in a catalog that are killed, and what is read of it between: a program like `catalog_runs`.

    python -m tests.spark.catalog_deaths FOLDER PLACE

The runs are processes, the reader is this one. Each dies some time after it has reported that it begins a step, so that
deaths are spread over a run however fast the machine is.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from namekeeper.pipeline.answers.warehouse import open_warehouse
from tests.spark.catalog_runs import CatalogRuns, Tables
from tests.spark.catalog_trials import in_folder, timed

SEED = 4_244
DEATHS = 2
LATEST_S = 1.5
"""About what a step lasts."""


class Deaths:
    """A warehouse of files whose runs all end, and one in the catalog."""

    def __init__(self, spark: SparkSession, folder: Path, location: str) -> None:
        self.runs = CatalogRuns(spark, folder, location)
        self.rng = random.Random(SEED)
        self.seen: dict[str, Any] = {"deaths": [], "different": [], "rows": {}}

    def live(self) -> dict[str, Any]:
        """All of it; returns what was seen."""
        journals = 1, 2
        self.runs.run(self.runs.files, *journals)
        wanted = self.runs.rows(open_warehouse(self.runs.files))
        self.runs.run(self.runs.catalog, 1)
        before = self.runs.rows(open_warehouse(self.runs.catalog))
        # A run is still at work when it says its last step; those before are cut into equal parts.
        steps = self.runs.steps[:-1]
        for death in range(DEATHS):
            part = steps[len(steps) * death // DEATHS : len(steps) * (death + 1) // DEATHS]
            self.die(self.rng.choice(part), self.rng.uniform(0, LATEST_S), journals, before, wanted)
        self.runs.run(self.runs.catalog, *journals)
        tables = self.runs.rows(open_warehouse(self.runs.catalog))
        self.seen["different"] = differences(tables, wanted)
        self.seen["rows"] = {name: len(rows) for name, rows in wanted.items()}
        return self.seen

    def die(
        self, step: str, seconds: float, journals: tuple[int, ...], before: Tables, wanted: Tables
    ) -> None:
        """Kill a run, and read every table; a run that was at its end may have committed."""
        with timed(f"a run over {journals} that dies {seconds:.1f} s after {step!r}"):
            exit_code = self.killed(step, seconds, journals)
        tables = self.runs.rows(open_warehouse(self.runs.catalog))
        half = min((differences(tables, some) for some in (before, wanted)), key=len)
        left = self.runs.left("events") - len(tables["events"])
        self.seen["deaths"].append({"step": step, "exit_code": exit_code, "half": half, "left": left})

    def killed(self, step: str, seconds: float, journals: tuple[int, ...]) -> int:
        """Kill a run some time after it has reported that it begins a step; returns what it ended with."""
        command = [sys.executable, "-m", "namekeeper.pipeline", "--warehouse", self.runs.catalog]
        for number in journals:
            command += ["--journal", str(self.runs.folder / f"journal-{number}")]
        command += ["--tables", self.runs.location]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=os.environ
        ) as process:
            assert process.stderr is not None
            output = next((line for line in process.stderr if line.startswith(step)), None)
            assert output is not None, f"never reported {step!r}"
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode


def differences(tables: Tables, wanted: Tables) -> list[str]:
    """Names of tables with other rows than are wanted; before the first run that is none."""
    return [name for name, rows in tables.items() if rows != wanted.get(name, [])]


if __name__ == "__main__":
    in_folder(lambda spark, folder, location: Deaths(spark, folder, location).live())
