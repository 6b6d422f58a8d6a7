"""Settings that hold while some work is done."""

from unittest import mock

import pytest
from py4j.protocol import Py4JNetworkError

from namekeeper.pipeline.session_settings import prepare, suited_to_little_data

WITHOUT_DEFAULT = "spark.sql.leafNodeDefaultParallelism"
DEATHS = (ConnectionRefusedError("gone"), Py4JNetworkError("gone"))


class Conf:
    """Settings of a session."""

    def __init__(self) -> None:
        self.values = {"spark.sql.shuffle.partitions": "200", "spark.sql.codegen.wholeStage": "true"}

    def get(self, name: str) -> str | None:
        return self.values.get(name, None if name == WITHOUT_DEFAULT else "its default")

    def unset(self, name: str) -> None:
        del self.values[name]

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
            assert session.conf.values[WITHOUT_DEFAULT] == "1"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert session.conf.values["spark.sql.shuffle.partitions"] == "200"
    assert session.conf.values["spark.sql.codegen.wholeStage"] == "true"
    assert WITHOUT_DEFAULT not in session.conf.values
    assert set(session.conf.values.values()) <= {"200", "true", "its default"}


def test_every_session_is_set_to_utc():
    session = Session()
    assert prepare(session) is session
    assert session.conf.values["spark.sql.session.timeZone"] == "UTC"


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
