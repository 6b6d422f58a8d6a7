"""What is told of topics: most of all rows, of which nearly all only confirm what is known."""

from collections.abc import Sequence

from namekeeper.pipeline.gold.sql_text import Views, sql_text

__all__ = ["define_recorded_topics", "define_topic_fingerprints"]

_MANY_CHECKPOINTS = 64
"""More are not written into a condition for the reader of files; the join with the runs chooses alone."""


def define_topic_fingerprints(views: Views) -> None:
    """Define `bucketed_topic_row` and `topic_fingerprint`, a number for each bucket of a checkpoint."""
    views.define("bucketed_topic_row", sql_text("bucketed_topic_row"), {})
    views.define("topic_fingerprint", sql_text("topic_fingerprint"), {}, keep=True)


def define_recorded_topics(views: Views) -> None:
    """Define `checkpoint_run`, the checkpoints that count, and `topic_recorded`, the rows that do.

    `topic_fingerprint` and `known_position` are there.
    """
    views.define("topic_change", sql_text("topic_change"), {})
    views.define("checkpoint_run", sql_text("checkpoint_run"), {}, keep=True)
    views.define(
        "checkpoint_run_start", "SELECT DISTINCT checkpoint FROM checkpoint_run WHERE checkpoint = span", {}
    )
    begins = sorted(row["checkpoint"] for row in views.rows("checkpoint_run_start"))
    views.define("topic_recorded", sql_text("topic_recorded").format(starts_a_run=_is_one_of(begins)), {})


def _is_one_of(checkpoints: Sequence[int]) -> str:
    if len(checkpoints) > _MANY_CHECKPOINTS:
        return "checkpoint IS NOT NULL"
    return " OR ".join(f"checkpoint = {checkpoint}" for checkpoint in checkpoints) or "false"
