"""What administrative actions return where the model has no value of its own."""

from enum import StrEnum

from msgspec import Struct

from namekeeper.common.printable import printable
from namekeeper.model.version import DataVersion

__all__ = ["DataVersionAnswer", "UnitTopics", "first_line"]


class UnitTopics(StrEnum):
    """Which of the three unit topic lists is meant (protocol.md 2.5)."""

    UNIT = "unit"
    HAS_UNIT_SUB = "has-unit-sub"
    HAS_UNIT_SUB_UNUNIT = "has-unit-sub-ununit"


class DataVersionAnswer(Struct, frozen=True, rename="camel"):
    """What a name server says to a broker's data version (protocol.md 2.8)."""

    changed: bool
    """Whether the version that was asked about is not the stored one."""
    data_version: DataVersion | None
    """The stored version; None when this broker is not registered."""


def first_line(remark: str | None) -> str:
    """The first line of a remark, harmless for a terminal: a peer chose its characters."""
    line = next((line for line in (remark or "").splitlines() if line.strip()), "no remark")
    return printable(line.strip())
