"""What is told of topics: most of all rows, of which nearly all only confirm what is known."""

from collections.abc import Sequence

from namekeeper.pipeline.gold.sql_text import Views, sql_text

__all__ = ["fingerprint_topics", "tell_topics"]

_MANY_CHECKPOINTS = 64
"""More are not written into a condition for the reader of files; the join with the runs chooses alone."""


def fingerprint_topics(views: Views) -> None:
    """Define `topic_in_handful`, the rows, and `topic_print`, what checkpoints say of them in short."""
    views.define("topic_in_handful", sql_text("topic_in_handful"), {})
    views.define("topic_print", sql_text("topic_print"), {}, keep=True)


def tell_topics(views: Views) -> None:
    """Define `topic_run`, the checkpoints that count, and `topic_told`, the rows that do.

    `topic_print` and `known_place` are there.
    """
    views.define("topic_changed", sql_text("topic_changed"), {})
    views.define("topic_run", sql_text("topic_run"), {}, keep=True)
    views.define("run_begin", "SELECT DISTINCT checkpoint FROM topic_run WHERE checkpoint = span", {})
    begins = sorted(row["checkpoint"] for row in views.rows("run_begin"))
    views.define("topic_told", sql_text("topic_told").format(begins_a_run=_is_one_of(begins)), {})


def _is_one_of(checkpoints: Sequence[int]) -> str:
    if len(checkpoints) > _MANY_CHECKPOINTS:
        return "checkpoint IS NOT NULL"
    return " OR ".join(f"checkpoint = {checkpoint}" for checkpoint in checkpoints) or "false"
