"""What Java's String does where ours differs: its order, its split, its parseInt."""

import re

__all__ = ["java_order", "java_split", "parse_java_int"]

_INT = re.compile(r"[+-]?\d+")
_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1


def java_order(text: str) -> bytes:
    """Sort key that puts strings in the order of Java's `compareTo`: by UTF-16 units, not by characters."""
    return text.encode("utf-16-be", "surrogatepass")


def java_split(text: str, separator: str) -> list[str]:
    """Split as Java's `String.split` does: empty parts at the end are dropped, others are kept."""
    if separator not in text:
        return [text]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def parse_java_int(text: str) -> int:
    """Read a number as `Integer.parseInt` does: a sign and digits, nothing around them, 32 bits.

    Raises:
        ValueError: It is not such a number.
    """
    if not _INT.fullmatch(text) or not _INT_MIN <= int(text) <= _INT_MAX:
        raise ValueError(f"not a 32-bit number: {text!r}")
    return int(text)
