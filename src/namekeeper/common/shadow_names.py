"""Ids of shadows: name servers that brokers register with in addition to those that clients use."""

__all__ = ["is_shadow", "shadow_id"]

_SHADOW = "shadow"


def shadow_id(label: str) -> str:
    """Id of the shadow of a cluster. No observed name server has such an id: theirs end with a port."""
    return f"{label}.{_SHADOW}" if label else _SHADOW


def is_shadow(id_: str) -> bool:
    """Whether an id is that of a shadow."""
    return id_ == _SHADOW or id_.endswith(f".{_SHADOW}")
