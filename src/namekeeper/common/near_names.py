"""Suggests known names for a misspelt one."""

from collections.abc import Iterable

__all__ = ["did_you_mean", "near_names"]

_ALIKE = 0.8
"""How alike two names must be, from 0 to 1."""
_SHORT, _ALIKE_IF_SHORT = 4, 0.65
"""A name of at most so many characters needs less likeness: one wrong letter is a third of `why`."""


def near_names(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Known names that look like `name`, the nearest first; case, blanks and separators do not count.

    One that differs in nothing else is the only one.
    """
    by_plain: dict[str, list[str]] = {}
    for each in known:
        by_plain.setdefault(_plain(each), []).append(each)
    plain_name = _plain(name)
    if plain_name in by_plain and name not in by_plain[plain_name]:
        return by_plain[plain_name][:most]
    from difflib import get_close_matches  # only a name that is not known needs it

    alike = _ALIKE_IF_SHORT if len(plain_name) <= _SHORT else _ALIKE
    found = get_close_matches(plain_name, by_plain, n=most, cutoff=alike)
    return [each for plain in found for each in by_plain[plain]][:most]


def did_you_mean(name: str, known: Iterable[str], *, prefix: str = "") -> str:
    """The end of an error message, `: did you mean a, or b?`; empty if no known name is similar.

    Args:
        name: the name that is not known.
        known: the names that are.
        prefix: the common beginning of all names; it is not compared.
    """
    near = near_names(name.removeprefix(prefix), (each.removeprefix(prefix) for each in known))
    return f": did you mean {', or '.join(prefix + each for each in near)}?" if near else ""


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
