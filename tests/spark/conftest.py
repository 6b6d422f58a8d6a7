"""One SparkSession for every test here that needs one, with the settings that start and run fastest."""

import os
import warnings
from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession
from xdist.remote import Producer

from namekeeper.pipeline.local_session import local_session
from tests.spark.lawful import Lawful
from tests.spark.scheduling import group_of
from tests.support.system.scheduling import GroupScheduling

QUICK_JVM = "-XX:TieredStopAtLevel=1"
"""A run of seconds ends before the second compiler has paid off: a third less time."""
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JVM)  # for the Java of processes that tests start

FAST = {
    "spark.driver.extraJavaOptions": QUICK_JVM,
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.shuffle.compress": "false",
    "spark.broadcast.compress": "false",
    "spark.driver.memory": "1g",
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Give the tests of the session one process."""
    return GroupScheduling(config, log, group_of)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session; a test that changes settings takes `spark.newSession()`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = local_session("local[1]", FAST)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def lawful(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lawful:
    """A warehouse of dozens of made-up name servers, made once; nobody changes it."""
    return Lawful(spark, tmp_path_factory.mktemp("lawful"))
