"""The end of a session; sessions themselves are in tests/spark."""

from unittest import mock

import pytest
from py4j.protocol import Py4JNetworkError

from namekeeper.pipeline.session import stop_session

DEATHS = (ConnectionRefusedError("gone"), Py4JNetworkError("gone"))


@pytest.mark.parametrize("error", DEATHS)
def test_of_a_java_that_has_died_nothing_is_left_to_stop(error: Exception):
    session = mock.Mock(stop=mock.Mock(side_effect=error))
    stop_session(session)
    session.stop.assert_called_once_with()
