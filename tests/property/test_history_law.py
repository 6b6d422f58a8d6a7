"""The law of `history`: the changes in a window, folded over the rows at its beginning, give those at its end."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given

from namekeeper.history.rows import IN_FILES, AnyKey, FilterKey, LiveKey, Row, names_of
from namekeeper.journal.contract.record import BrokerLive
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import random_history
from tests.property.known import JournalOracle, read
from tests.property.live_law import small_pieces
from tests.property.test_journal_law import LAW, chances
from tests.support.journal.history import fold, history_of, rows_of


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """As for the law of the journal."""
    with small_pieces():
        yield


def names_in(key: AnyKey) -> tuple[str, ...]:
    """Topics, broker names and addresses: not clusters."""
    return (key.broker_addr,) if isinstance(key, LiveKey | FilterKey) else names_of(key)


def about(rows: dict[AnyKey, Row], name: str) -> dict[AnyKey, Row]:
    """Rows that name a topic, a broker or an address, by the plainest means."""
    return {
        key: row
        for key, row in rows.items()
        if name in names_in(key) or (isinstance(row, BrokerLive) and row.broker_name == name)
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
        events = history_of("ns", read(server), name).changes()
        for begin, end in ((0, -1), (0, 1), (-2, -1)):
            window = [event for event in events if instants[begin] < event.at <= instants[end]]
            after = fold(about(states[begin], name), window)
            found = {key: row for key, row in after.items() if not isinstance(key, IN_FILES)}
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
