"""What the steps of gold ask of an engine, and what they are told is new."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from namekeeper.pipeline.gold.plan import RecomputeRange
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.table import Table

__all__ = ["Engine", "NewRecords"]


class NewRecords(NamedTuple):
    """Records that are new, as far as planning must know."""

    namesrv: str
    boot: int
    first_seq: int
    last_seq: int
    first_ts: int


class Engine(Views, Protocol):
    """An engine with the tables of one run, in which they can be changed."""

    load_id: int
    """The load that brought the new_records."""

    def is_there(self, table: Table) -> bool:
        """Whether anything was ever written to a table."""

    def show_facts(self, ranges: Sequence[RecomputeRange]) -> None:
        """Name every fact table; those of changes may leave out rows that are in no range."""

    def replace(
        self, table: Table, name: str, *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Put the rows of `name` in the place of those of a table, or of some of its partitions."""

    def concurrently(self, steps: Sequence[Callable[[], Any]]) -> list[Any]:
        """Do steps that don't need each other, at once if the engine is quicker then; what they return."""

    def in_background(self, step: Callable[[], Any]) -> AbstractContextManager[Callable[[], Any]]:
        """Begin a step, and let others be done; gives a function that waits until it is done."""
