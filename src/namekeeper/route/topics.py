"""Changes of single topics and of permissions: 205, 216, 217, 327 (protocol.md 2.4, 2.6, 2.12)."""

from collections.abc import Collection

from msgspec import Struct

from namekeeper.model.now import Now
from namekeeper.model.topic import QueueSpec
from namekeeper.route.change import Applied, Edit, OneStep
from namekeeper.route.events import Cause, TopicQueuesChanged, TopicRow
from namekeeper.route.removal import end_mappings
from namekeeper.route.rows import READ_WRITE, make_row, with_perm, without_write
from namekeeper.route.tables import RouteTables

__all__ = ["ChangeWritePerm", "DeleteTopic", "RegisterTopic"]


class ChangeWritePerm(OneStep, Struct, frozen=True):
    """WIPE_WRITE_PERM_OF_BROKER (205) or ADD_WRITE_PERM_OF_BROKER (327), in effect only.

    What was registered stays: an unchanged registration leaves the permission as it was made here, a changed
    one overwrites it. The result is the number of topics that the broker name has.
    """

    broker_name: str
    cause: Cause
    """WIPE_WRITE_PERM or ADD_WRITE_PERM."""
    remote_addr: str | None = None

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker name."""
        return (self.broker_name,)

    def commit(self, tables: RouteTables, now: Now) -> Applied[int]:
        """Replace the table of the name by one with the other permission."""
        edit = Edit(tables, now)
        change = without_write if self.cause is Cause.WIPE_WRITE_PERM else _read_write
        edit.change_rows(self.broker_name, change)
        return edit.applied(len(tables.topics_of(self.broker_name)))


class DeleteTopic(OneStep, Struct, frozen=True):
    """DELETE_TOPIC_IN_NAMESRV (216): everywhere, or on the broker names of one cluster."""

    topic: str
    cluster_name: str | None = None
    remote_addr: str | None = None
    cause: Cause = Cause.DELETE_TOPIC

    def touches(self, tables: RouteTables) -> Collection[str]:
        """Broker names that have the topic, within the cluster if one is given."""
        names = {name for name, _ in tables.rows_of(self.topic)}
        if self.cluster_name:
            names &= tables.cluster_addr_table.get(self.cluster_name, frozenset())
        return names

    def commit(self, tables: RouteTables, now: Now) -> Applied[None]:
        """Drop the rows."""
        edit = Edit(tables, now)
        for broker_name in sorted(self.touches(tables)):
            before = tables.topics_of(broker_name)
            after = {topic: row for topic, row in before.items() if topic != self.topic}
            edit.apply(TopicQueuesChanged(broker_name, before, after, (self.topic,)))
            end_mappings(edit, (self.topic,), broker_name)
            tables.forget_bodies(broker_name)
        return edit.applied(None)


class RegisterTopic(OneStep, Struct, frozen=True):
    """REGISTER_TOPIC_IN_NAMESRV (217): queues of one topic, each on a broker name that must have a group.

    The first name without a group ends it: what came before stays if the topic existed, and nothing does if
    it was new (protocol.md 2.12).
    """

    topic: str
    queues: tuple[tuple[str, QueueSpec], ...]
    """(broker name, queues), in the order of the request."""
    remote_addr: str | None = None
    cause: Cause = Cause.REGISTER_TOPIC

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker names of the request."""
        return {broker_name for broker_name, _ in self.queues}

    def commit(self, tables: RouteTables, now: Now) -> Applied[None]:
        """Set what is registered and what is in effect alike."""
        edit = Edit(tables, now)
        accepted = []
        for broker_name, spec in self.queues:
            if broker_name not in tables.broker_addr_table:
                break
            accepted.append((broker_name, spec))
        if len(accepted) < len(self.queues) and not tables.rows_of(self.topic):
            return Applied(None)
        for broker_name, spec in accepted:
            before = tables.topics_of(broker_name)
            row = make_row(spec, spec)
            if before.get(self.topic) != row:
                edit.apply(
                    TopicQueuesChanged(broker_name, before, {**before, self.topic: row}, (self.topic,))
                )
            tables.forget_bodies(broker_name)
        return edit.applied(None)


def _read_write(row: TopicRow) -> TopicRow:
    """Exactly read and write, whatever it was: the inherit bit is lost, as in Java (trap T31)."""
    return with_perm(row, READ_WRITE)
