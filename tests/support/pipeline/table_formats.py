"""A Spark for which Iceberg and Delta have releases, beside the one that is installed.

Fetched once, with pip and Maven, and kept under target/spark/. A process that has its folder first on
PYTHONPATH runs the package on that Spark.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.java.artifacts import REPO, locked, run, run_maven

__all__ = ["PYSPARK", "environment_of", "jars"]

PYSPARK = "4.1.1"

_CACHE = REPO / "target" / "spark"
_POM = REPO / "tests" / "spark" / "formats" / "pom.xml"


def environment_of(home: str) -> Mapping[str, str]:
    """Environment of a process that runs on that Spark.

    Args:
        home: JAVA_HOME.
    """
    path = [str(_other_spark()), str(REPO / "src"), str(REPO)]
    return {
        **{name: value for name, value in os.environ.items() if name != "SPARK_HOME"},
        "PYTHONPATH": os.pathsep.join(path),
        "JAVA_HOME": home,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def jars() -> str:
    """Jars of the formats, as Spark's setting `spark.jars` has them."""
    folder = _CACHE / f"jars-{hashlib.sha256(_POM.read_bytes()).hexdigest()[:8]}"
    goal = ["dependency:copy-dependencies", "-DexcludeTransitive", f"-DoutputDirectory={folder}"]
    _provide(folder, lambda: run_maven(_POM, *goal))
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))


def _other_spark() -> Path:
    """Folder of that PySpark."""
    site = _CACHE / f"pyspark-{PYSPARK}"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _provide(site, lambda: run([*command, "--target", str(site), f"pyspark=={PYSPARK}"]))
    return site


def _provide(folder: Path, fill: Callable[[], None]) -> None:
    """Have a folder filled, once."""
    complete = folder.with_name(f"{folder.name}.complete")
    with locked(folder.with_name(f"{folder.name}.lock")):
        if complete.exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        fill()
        complete.touch()
