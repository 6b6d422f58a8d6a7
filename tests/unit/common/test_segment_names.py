"""Names of segments."""

import pytest

from namekeeper.common.segment_names import SEGMENT_NAME


def test_a_sealed_name_has_all_its_parts():
    match = SEGMENT_NAME.fullmatch("ns-1.a_b-0a1b2c3d-1772323200000-000000000001-000000000100.jsonl.gz")
    assert match is not None
    assert match.groupdict() == {
        "namesrv": "ns-1.a_b", "uuid8": "0a1b2c3d", "boot": "1772323200000", "first_seq": "000000000001",
        "last_seq": "000000000100", "form": ".gz",
    }  # fmt: skip


def test_a_name_without_a_last_seq_is_of_an_open_segment():
    match = SEGMENT_NAME.fullmatch("ns-0a1b2c3d-1772323200000-000000000001.jsonl.open")
    assert match is not None
    assert match["last_seq"] is None


@pytest.mark.parametrize(
    "name",
    [
        "", "identity.json", "-0a1b2c3d-1772323200000-000000000001.jsonl", "a--b-0a1b2c3d-1772323200000-000000000001.jsonl",
        "ns-0A1b2c3d-1772323200000-000000000001.jsonl", "ns-0a1b2c3d-177232320000-000000000001.jsonl",
        "ns-0a1b2c3d-1772323200000-000000000001.jsonl.zst", "ns-0a1b2c3d-1772323200000-000000000001.jsonl\n",
    ],
)  # fmt: skip
def test_other_names_are_not_of_segments(name):
    assert SEGMENT_NAME.fullmatch(name) is None
