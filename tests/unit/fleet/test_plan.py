"""What plans are made from has bounds."""

import pytest

from namekeeper.errors import ConfigError
from namekeeper.fleet.plan import FleetSettings


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"brokers": 0}, "brokers"),
        ({"clusters": 0}, "clusters"),
        ({"topics": -1}, "topics"),
        ({"slaves": -1}, "slaves"),
        ({"namesrvs": 0}, "namesrvs"),
        ({"brokers": 2, "clusters": 3}, "3 clusters"),
        ({"brokers": 2_300, "slaves": 1}, "ports"),
    ],
)
def test_what_can_not_work_is_named(wrong, named):
    with pytest.raises(ConfigError, match=named):
        FleetSettings(**wrong)


def test_a_large_fleet_fits():
    assert FleetSettings(brokers=300, slaves=2).brokers == 300
