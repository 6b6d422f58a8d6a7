"""What a watcher gets, as JSON."""

import msgspec

from tests.unit.http.watching import changed


def test_a_change_says_what_changed_when_why_and_by_whom():
    assert msgspec.to_builtins(changed("5-8", "A", "B")) == {
        "revision": "5-8", "topics": ["A", "B"], "at": 1_700_000_000_000, "cause": "expired", "peer": "10.0.0.1:5",
    }  # fmt: skip
