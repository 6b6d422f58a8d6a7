"""Permissions of a queue: RocketMQ's bits (protocol.md 4.12)."""

from enum import IntFlag

__all__ = ["Perm", "format_perm"]


class Perm(IntFlag):
    """Bits of a topic's permission, as PermName in Java."""

    INHERIT = 1
    WRITE = 2
    READ = 4
    PRIORITY = 8


def format_perm(perm: int) -> str:
    """Text form as mqadmin prints it: `RW-`, `R--`, `-W-`, `RWX`."""
    return "".join(
        letter if perm & bit else "-"
        for letter, bit in (("R", Perm.READ), ("W", Perm.WRITE), ("X", Perm.INHERIT))
    )
