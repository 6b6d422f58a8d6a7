"""The subscription of a consumer to a topic, as brokers get it: Java's SubscriptionData and FilterAPI."""

from msgspec import Struct

from namekeeper.errors import ConfigError
from namekeeper.model.spelled_struct import SpelledStruct

__all__ = ["SQL92", "SUB_ALL", "TAG", "SubscriptionData", "java_hash", "subscription_data"]

SUB_ALL = "*"
"""Every message."""
TAG, SQL92 = "TAG", "SQL92"
"""Types of expressions."""


class SubscriptionData(Struct, frozen=True, rename="camel", metaclass=SpelledStruct):
    """A subscription; encodes as JSON with the names of Java's members."""

    topic: str
    """Name of the topic."""
    sub_string: str = SUB_ALL
    """The expression: `*`, tags as `a || b`, or SQL."""
    tags_set: frozenset[str] = frozenset()
    """The tags of a TAG expression; empty for `*`."""
    code_set: frozenset[int] = frozenset()
    """Hash codes of the tags, by which brokers filter."""
    sub_version: int = 0
    """Time of the subscription in ms: of two that differ, brokers use the newer."""
    expression_type: str = TAG
    """`TAG` or `SQL92`."""
    class_filter_mode: bool = False
    """Always false: filter classes are gone since 4.3."""


def subscription_data(
    topic: str, expression: str | None = SUB_ALL, *, expression_type: str = TAG, sub_version: int = 0
) -> SubscriptionData:
    """Build a subscription as Java's FilterAPI does.

    Args:
        topic: its name.
        expression: `*`, tags as `a || b`, or SQL; None and an empty one mean `*`, but not as SQL.
        expression_type: `TAG` or `SQL92`.
        sub_version: time of the subscription in ms.

    Raises:
        ConfigError: the expression names no tag, SQL is empty, or the type is unknown.
    """
    if expression_type not in (TAG, SQL92):
        raise ConfigError(f"expression_type={expression_type!r}: write {TAG} or {SQL92}")
    if expression_type == SQL92:
        if not expression:
            raise ConfigError(f"the SQL92 expression of topic {topic!r} is empty: write one, or use {TAG}")
        return SubscriptionData(topic, expression, sub_version=sub_version, expression_type=SQL92)
    if not expression or expression == SUB_ALL:
        return SubscriptionData(topic, SUB_ALL, sub_version=sub_version)
    tags = frozenset(tag.strip() for tag in expression.split("||")) - {""}
    if not tags:
        raise ConfigError(
            f"the expression {expression!r} of topic {topic!r} names no tag: write 'a || b', or '*'"
        )
    return SubscriptionData(topic, expression, tags, frozenset(map(java_hash, tags)), sub_version)


def java_hash(text: str) -> int:
    """Return what Java's `String.hashCode` does: over UTF-16 units, as a signed 32-bit number."""
    data = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(data), 2):
        code = (31 * code + (data[at] << 8 | data[at + 1])) & 0xFFFF_FFFF
    return code - (1 << 32) if code >= 1 << 31 else code
