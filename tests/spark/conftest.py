"""One SparkSession for every test here that needs one, with the settings that start and run fastest."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from namekeeper.pipeline.local_session import local_session
from tests.spark.lawful import Lawful

FAST = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.shuffle.compress": "false",
    "spark.broadcast.compress": "false",
    "spark.driver.memory": "1g",
}

FOLDER = Path(__file__).parent
ALONE = {"test_processes"}
"""Modules whose tests share nothing."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say for `--dist loadgroup` which tests share a process: those of the session, those of a module, or none.

    Those of the session come first: they take longest, and can't be divided.
    """
    ours = [item for item in items if FOLDER in item.path.parents]
    places = [place for place, item in enumerate(items) if FOLDER in item.path.parents]
    with_session = {item.path for item in ours if "spark" in getattr(item, "fixturenames", ())}
    for item in ours:
        group = item.nodeid if item.path.stem in ALONE else item.path.stem
        item.add_marker(pytest.mark.xdist_group("session" if item.path in with_session else group))
    ours.sort(key=lambda item: item.path not in with_session)
    for place, item in zip(places, ours, strict=True):
        items[place] = item


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
    """A warehouse of hundreds of made-up name servers, made once; nobody changes it."""
    return Lawful(spark, tmp_path_factory.mktemp("lawful"))
