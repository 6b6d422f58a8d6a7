"""Results of administrative actions for which `model` has no type."""

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
    """A name server's answer to a broker's data version (protocol.md 2.8)."""

    changed: bool
    """Whether the given version differs from the stored one."""
    data_version: DataVersion | None
    """The stored version; None when this broker is not registered."""


def first_line(remark: str | None) -> str:
    """The first line of a remark, harmless for a terminal: a peer chose its characters."""
    line = next((line for line in (remark or "").splitlines() if line.strip()), "no remark")
    return printable(line.strip())
