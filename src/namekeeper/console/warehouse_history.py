"""The history of name servers in a warehouse, read by the queries of the pipeline."""

from namekeeper.answers.source import no_such_cluster
from namekeeper.clock import Clock
from namekeeper.errors import ConfigError
from namekeeper.history.sources.warehouse import Tables, WarehouseSource
from namekeeper.pipeline.answers.queries import AnswerTables
from namekeeper.pipeline.answers.recorded import recorded, recorded_everything
from namekeeper.pipeline.answers.topics import knowledge
from namekeeper.pipeline.errors import PipelineError

__all__ = ["warehouse_history"]


def warehouse_history(
    tables: AnswerTables, clock: Clock | None = None, *, label: str | None = None
) -> WarehouseSource:
    """The history of all name servers in a warehouse.

    Args:
        tables: its tables; asked by one thread at a time.
        clock: tells the present; None is the system's.
        label: of the cluster whose name servers are shown, as it was at their last start; None: all are.

    Raises:
        ConfigError: no name server has the label.
        PipelineError: the tables can't be read.
    """

    def ask(namesrv: str) -> Tables:
        try:
            return recorded_everything(tables, namesrv)
        except PipelineError as error:
            raise ConfigError(str(error)) from error

    def ask_part(namesrv: str, about: str | None, since: int, until: int) -> tuple[Tables, tuple[int, int]]:
        try:
            found = recorded(tables, about, since, until, namesrv)
        except PipelineError as error:
            raise ConfigError(str(error)) from error
        return found.tables, found.bases.get(namesrv, (0, 0))

    ends = {row["namesrv"]: row["knows_up_to"] for row in knowledge(tables, 0)}
    if label is not None:
        boots = tables.ask("name_server_boot", {"namesrv": None}).rows
        labels = {row["namesrv"]: row["cluster_label"] or "" for row in boots}
        ends = {namesrv: end for namesrv, end in ends.items() if labels.get(namesrv) == label}
        if not ends:
            raise no_such_cluster(label, labels.values())
    return WarehouseSource(ends, ask, ask_part, clock)
