"""The law of `history`: the changes in a window, folded over the rows at its beginning, give those at its end."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given

from namekeeper.answers.row_changes import Key, RowChanges, Values, fold, rows_of
from namekeeper.journal.reading.history import steps
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import random_history
from tests.property.known import JournalOracle, read
from tests.property.live_law import small_pieces
from tests.property.test_journal_law import LAW, chances


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """As for the law of the journal."""
    with small_pieces():
        yield


IN_FILES = {"kv", "config"}
"""Kinds of rows whose first values are no change."""


def names_in(key: Key) -> tuple[str, ...]:
    """Topics, broker names and addresses: not clusters."""
    return key[2:] if key[0] in {"live", "filter"} else key[1:]


def about(rows: dict[Key, Values], name: str) -> dict[Key, Values]:
    """Rows that name a topic, a broker or an address, by the plainest means."""
    return {
        key: values
        for key, values in rows.items()
        if name in names_in(key) or (key[0] == "live" and values[0] == name)
    }


def check_law(chance: Random, changes: int) -> int:
    """Compare some windows; returns how many rows there were at their ends."""
    server = random_history(chance, changes, clock_jumps=True)
    instants = sorted(JournalOracle(server).instants(chance, 4))
    states = [rows_of(state_at(read(server), at).state) for at in instants]
    every = {**states[0], **states[-1]}
    names = sorted({each for key in every for each in names_in(key)})
    compared = 0
    for name in chance.sample(names, min(len(names), 3)):
        changed = RowChanges("ns", name)
        for step in steps(read(server)):
            changed.take(step)
        events = changed.result()
        for begin, end in ((0, -1), (0, 1), (-2, -1)):
            window = [event for event in events if instants[begin] < event.at <= instants[end]]
            after = fold(about(states[begin], name), window)
            found = {key: values for key, values in after.items() if key[0] not in IN_FILES}
            assert about(found, name) == about(states[end], name), (name, instants[begin], instants[end])
            compared += len(about(states[end], name))
    return compared


@given(chances)
@LAW
def test_the_fold_of_a_window_is_the_difference_of_its_ends(chance):
    check_law(chance, 40)


def test_windows_have_rows():
    """So that the law says something."""
    assert sum(check_law(Random(seed), 60) for seed in range(8)) > 30
