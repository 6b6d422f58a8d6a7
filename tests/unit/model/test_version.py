"""Data versions (protocol.md 3.3)."""

import pytest

from namekeeper.model.version import DataVersion


@pytest.mark.parametrize("other", [DataVersion(2, 2, 3), DataVersion(1, 3, 3), DataVersion(1, 2, 4)])
def test_versions_are_equal_only_as_a_whole(other):
    assert DataVersion(1, 2, 3) == DataVersion(counter=1, state_version=2, timestamp=3)
    assert DataVersion(1, 2, 3) != other


def test_a_missing_member_is_zero_and_never_now():
    assert DataVersion() == DataVersion(0, 0, 0)


def test_nobody_orders_versions():
    with pytest.raises(TypeError):
        assert DataVersion(1) < DataVersion(2)
