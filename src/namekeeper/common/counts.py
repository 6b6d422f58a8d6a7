"""Counts as people write them: `1 look-up`, `2,000 rows were`."""

from collections.abc import Sequence

__all__ = ["shown_count", "shown_list", "shown_number"]

_SINGULAR = {"are": "is", "were": "was", "do": "does", "have": "has"}
"""Verb for many -> verb for one."""


def shown_number(number: int) -> str:
    """A whole number with its thousands separated."""
    return f"{number:,}"


def shown_count(count: int, noun: str, verb: str = "") -> str:
    """A number with its noun, and its verb if there is one; both are for one if the number is 1.

    Args:
        count: How many.
        noun: For one; it gets an s in the plural.
        verb: For many: are, were, do or have. Empty: none.
    """
    is_one = count == 1
    shown = f"{shown_number(count)} {noun}{'' if is_one else 's'}"
    if not verb:
        return shown
    return f"{shown} {_SINGULAR[verb] if is_one else verb}"


def shown_list(texts: Sequence[str], most: int = 3) -> str:
    """The first of several texts in one line, and how many more there are."""
    more = len(texts) - most
    return "; ".join(texts[:most]) + (f"; and {shown_number(more)} more" if more > 0 else "")
