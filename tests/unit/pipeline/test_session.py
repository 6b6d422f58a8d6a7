"""Settings of sessions, and their end; sessions themselves are in tests/spark."""

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from py4j.protocol import Py4JNetworkError

from namekeeper.pipeline.session import (
    java_options,
    partitions_for,
    stop_session,
    suited_to_little_data,
    suited_to_views,
)


def test_what_py4j_tells_of_a_call_that_was_interrupted_is_not_printed():
    said = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], check=True, capture_output=True, text=True, timeout=60
    )
    assert said.stderr == ""


INTERRUPTED = """
import logging
from namekeeper.pipeline.session import hush_interrupts
hush_interrupts()
logging.exception("KeyboardInterrupt while sending command.")
"""


def test_java_has_one_collector_and_the_user_has_the_last_word():
    assert java_options(Path("log"), "").endswith(" -XX:+UseParallelGC")
    theirs = "-Xss4m -XX:+UseZGC"
    assert java_options(Path("log"), theirs).endswith(f" {theirs}")
    assert "ParallelGC" not in java_options(Path("log"), theirs)


def test_there_is_room_for_code_that_is_kept_even_where_java_would_have_little():
    options = java_options(Path("log"), "-XX:TieredStopAtLevel=1").split()
    assert "-XX:ReservedCodeCacheSize=512m" in options
    theirs = "-XX:ReservedCodeCacheSize=128m"
    assert java_options(Path("log"), theirs).endswith(f" {theirs}")


class Conf:
    """Settings of a session."""

    def __init__(self) -> None:
        self.values = {"spark.sql.shuffle.partitions": "200", "spark.sql.codegen.wholeStage": "true"}

    def get(self, name: str) -> str:
        return self.values.get(name, "its default")

    def set(self, name: str, value: str) -> None:
        self.values[name] = value


class Session:
    def __init__(self) -> None:
        self.conf = Conf()


def test_a_session_that_was_suited_to_little_data_is_as_before_also_after_a_failure():
    session = Session()

    def fail() -> None:
        with suited_to_little_data(session):
            assert session.conf.values["spark.sql.shuffle.partitions"] == "1"
            assert session.conf.values["spark.sql.codegen.wholeStage"] == "false"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert session.conf.values["spark.sql.shuffle.partitions"] == "200"
    assert session.conf.values["spark.sql.codegen.wholeStage"] == "true"
    assert set(session.conf.values.values()) <= {"200", "true", "its default"}


def test_a_with_is_resolved_at_once_for_views_only():
    session = Session()
    with suited_to_views(session):
        assert session.conf.values["spark.sql.legacy.ctePrecedencePolicy"] == "LEGACY"
    assert session.conf.values["spark.sql.legacy.ctePrecedencePolicy"] == "its default"


DEATHS = (ConnectionRefusedError("gone"), Py4JNetworkError("gone"))


@pytest.mark.parametrize("error", DEATHS)
def test_a_java_that_died_at_work_is_what_is_told(error: Exception):
    session = Session()

    def die() -> None:
        with suited_to_little_data(session):
            session.conf.set = mock.Mock(side_effect=error)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        die()
    session.conf.set.assert_called_once()


def test_settings_that_cannot_be_set_right_after_good_work_are_told():
    session = Session()

    def work() -> None:
        with suited_to_little_data(session):
            session.conf.set = mock.Mock(side_effect=ConnectionRefusedError("gone"))

    with pytest.raises(ConnectionRefusedError, match="gone"):
        work()


@pytest.mark.parametrize("error", DEATHS)
def test_of_a_java_that_has_died_nothing_is_left_to_stop(error: Exception):
    session = mock.Mock(stop=mock.Mock(side_effect=error))
    stop_session(session)
    session.stop.assert_called_once_with()


@pytest.mark.parametrize(
    ("master", "partitions"),
    [("local[2]", 4), ("local[8]", 16), ("local[1]", 4), ("local-cluster[3,1,1024]", 6)],
)
def test_each_core_has_the_same_number_of_partitions_to_work_on(master: str, partitions: int):
    assert partitions_for(master) == partitions


def test_without_a_number_of_cores_it_is_that_of_the_machine():
    assert (
        partitions_for("local[*]")
        == partitions_for("spark://there:7077")
        == max(4, 2 * (os.cpu_count() or 1))
    )
