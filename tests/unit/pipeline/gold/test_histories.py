"""Histories have the columns that their queries write."""

import pytest

from namekeeper.pipeline.gold.histories import DRIFTS, HISTORIES, TIMELINE
from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.table import names_in


@pytest.mark.parametrize("history", [TIMELINE, *HISTORIES, *DRIFTS], ids=lambda history: history.table.name)
def test_columns_are_scope_key_values_times_and_evidence(history):
    own = (*history.scope, *history.key, *history.values)
    assert names_in(history.table) == [
        *own,
        "valid_from",
        "valid_to",
        *history.began,
        *history.ends,
        "valid_to_day",
    ]
    assert history.table.key == (*history.scope, *history.key, "valid_from")


def test_what_is_not_recorded_in_a_fact_has_a_query_of_its_own():
    for history in (TIMELINE, *DRIFTS):
        assert history.fact == ""
        assert sql_text(f"computed_{history.table.name}")
