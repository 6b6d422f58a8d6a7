"""How many queues a route may claim for one topic: an answer of a few bytes must not fill our memory."""

from namekeeper.errors import RouteDataError

__all__ = ["MAX_QUEUES", "check_queue_count"]

MAX_QUEUES = 1_000_000
"""Queues of one topic. 300 brokers with 1,024 queues each are under a third of it; these take some 70 MB."""


def check_queue_count(topic: str, count: int, where: str) -> None:
    """Refuse more queues than a topic can have.

    Raises:
        RouteDataError: There are more than MAX_QUEUES; `where` says what claims them.
    """
    if count > MAX_QUEUES:
        raise RouteDataError(topic, f"{where} makes {count} queues; more than {MAX_QUEUES} can't be true")
