"""A route can't claim any number of queues."""

import pytest

from namekeeper.client.queue_limit import MAX_QUEUES, check_queue_count
from namekeeper.errors import RouteDataError
from tests.support.system.errors import assert_no_error


def test_as_many_as_the_limit_are_taken():
    assert_no_error(check_queue_count, "t", MAX_QUEUES, "it")


def test_more_are_refused_by_name():
    with pytest.raises(RouteDataError, match=r"route of topic 't': the lot makes 1000001 queues") as caught:
        check_queue_count("t", MAX_QUEUES + 1, "the lot")
    assert caught.value.topic == "t"
