"""Complete changes pass; every other line is rejected with a reason."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.journal.contract import complete_changes
from namekeeper.journal.contract.complete_changes import CompleteChanges
from namekeeper.journal.contract.lines import Line, split_lines
from tests.unit.journal.segment_parts import BOOT, OPEN, change

REJECTED = {
    "hole": (change(1) + change(2, 3).split(b"\n", 1)[1] + change(5), [1, 5]),
    "no end": (change(1) + change(2, 2).rsplit(b"\n", 2)[0] + b"\n" + change(4), [1, 4]),
    "no end, after two of three": (change(1) + change(2, 3).rsplit(b"\n", 2)[0] + b"\n" + change(5), [1, 5]),
    "garbage": (change(1) + b"garbage\n" + change(2), [1, 2]),
    "garbage in a change": (change(1, 2).replace(b"\n", b"\nx\n", 1) + change(3), [3]),
    "another boot": (change(1) + change(2, boot=BOOT + 1) + change(3), [1, 3]),
    "another name server": (change(1) + change(2, namesrv="other"), [1]),
    "backwards": (change(5) + change(1) + change(6), [5, 6]),
    "twice": (change(1) + change(1) + change(2), [1, 2]),
    "NULs": (change(1) + b"\0" * 100 + b"\n" + change(2), [1, 2]),
}


@pytest.mark.parametrize("case", REJECTED)
def test_only_complete_changes_in_order_pass(case):
    data, expected = REJECTED[case]
    rejected = []
    changes = CompleteChanges(OPEN, lambda line, why: rejected.append((line, why)))
    passed = [b"".join(line.data + b"\n" for line in one) for one in changes.read(split_lines([data]))]
    assert passed == [change(first) for first in expected]
    assert rejected
    assert all(why for _, why in rejected)
    assert changes.last_seq == expected[-1]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 800), st.binary(max_size=30))
def test_however_a_file_is_torn_a_prefix_of_complete_changes_passes_and_every_other_byte_is_rejected(
    at, rest
):
    whole = change(1, 2) + change(3) + change(4, 2)
    data = whole[:at] + rest
    rejected: list[Line] = []
    changes = CompleteChanges(OPEN, lambda line, _: rejected.append(line))
    passed = b"".join(line.data + b"\n" for one in changes.read(split_lines([data])) for line in one)
    assert whole.startswith(passed)
    assert len(passed) + sum(len(line.data) for line in rejected) >= len(data) - data.count(b"\n")


def test_a_change_that_never_ends_is_given_up_at_its_limit(monkeypatch):
    monkeypatch.setattr(complete_changes, "CHANGE_BYTES_LIMIT", 1_000)
    rejected = []
    changes = CompleteChanges(OPEN, lambda line, why: rejected.append(why))
    long = change(1, 60).rsplit(b"\n", 2)[0] + b"\n"
    assert [len(one) for one in changes.read(split_lines([long + change(100)]))] == [1]
    assert len(rejected) == 59
    assert rejected[0] == "of an incomplete change: it has more than 1000 bytes"
