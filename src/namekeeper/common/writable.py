"""When a topic can be written to on a broker: one rule for clients, `why`, the tables and the report.

The pipeline's SQL has the same rule in `topic_state.sql` and `new_capacity_daily.sql`; tests hold them equal.
"""

__all__ = ["is_writable"]

_WRITE = 2
"""The bit of the permission to write (protocol.md 4.12)."""


def is_writable(perm: int, write_queue_nums: int, *, has_master: bool) -> bool:
    """Whether a producer can use the queues that a topic has on a broker name.

    Args:
        perm: the permission of the topic on this broker name.
        write_queue_nums: the number of its write queues there.
        has_master: whether a broker with id 0 is registered under this name. Producers leave out the queues
            of a broker name without one, whatever its permissions (protocol.md 7.5).
    """
    return bool(perm & _WRITE) and write_queue_nums > 0 and has_master
