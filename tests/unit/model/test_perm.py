"""Permission bits (protocol.md 4.12)."""

import pytest

from namekeeper.model.perm import Perm, format_perm


def test_the_bits_are_javas():
    assert {bit.name: int(bit) for bit in Perm} == {"INHERIT": 1, "WRITE": 2, "READ": 4, "PRIORITY": 8}


@pytest.mark.parametrize(
    ("perm", "text"), [(0, "---"), (1, "--X"), (2, "-W-"), (4, "R--"), (6, "RW-"), (7, "RWX"), (8, "---")]
)
def test_permissions_are_printed_as_mqadmin_does(perm, text):
    assert format_perm(perm) == text
