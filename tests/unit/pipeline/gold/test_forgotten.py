"""A broker that went is told apart by how it went, and after seven days it is not expected any more."""

from tests.support.pipeline.forgotten import assert_forgotten


def test_a_broker_that_unregistered_is_no_outage_and_both_are_forgotten_after_seven_days():
    """The mutants of the SQL are held against the same history."""
    assert_forgotten()
