"""Numbers that count how often they are compared: a test of growth needs no clock."""

from typing import ClassVar

__all__ = ["Counted"]


class Counted(int):
    """A number; `comparisons` counts those of all such numbers."""

    comparisons: ClassVar[int] = 0

    def __lt__(self, other: int) -> bool:
        Counted.comparisons += 1
        return int(self) < int(other)

    def __gt__(self, other: int) -> bool:
        Counted.comparisons += 1
        return int(self) > int(other)

    def __le__(self, other: int) -> bool:
        Counted.comparisons += 1
        return int(self) <= int(other)

    def __ge__(self, other: int) -> bool:
        Counted.comparisons += 1
        return int(self) >= int(other)

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int(self) == other

    def __ne__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int(self) != other

    __hash__ = int.__hash__
