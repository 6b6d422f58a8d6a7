"""Names checkpoints in a query, so that files whose rows only confirm known rows are skipped."""

from collections.abc import Sequence

from namekeeper.pipeline.gold.sql_text import Views

__all__ = ["STARTS_A_RUN", "runs_start_at"]

STARTS_A_RUN = "{starts_a_run}"
"""The placeholder in `topic_recorded` for the condition that a checkpoint starts a run."""
_MANY_CHECKPOINTS = 64
"""With more checkpoints than this there is no condition; then only the join with checkpoint_run selects."""


def runs_start_at(views: Views) -> str:
    """The condition: the checkpoint of a row starts a run.

    Args:
        views: Has `checkpoint_run_start`.
    """
    return _is_one_of(sorted(row["checkpoint"] for row in views.rows("checkpoint_run_start")))


def _is_one_of(checkpoints: Sequence[int]) -> str:
    if len(checkpoints) > _MANY_CHECKPOINTS:
        return "checkpoint IS NOT NULL"
    return " OR ".join(f"checkpoint = {checkpoint}" for checkpoint in checkpoints) or "false"
