"""Records of name servers to whose clusters operators gave labels."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["labelled"]


def labelled(records: Iterable[Mapping[str, Any]], label: str) -> list[dict[str, Any]]:
    """The same records, with the label of a cluster where a name server writes it."""
    more = {"server_started": {"cluster_label": label}, "checkpoint_begin": {"cluster_label": label}}
    return [{**record, **more.get(record["kind"], {})} for record in records]
