"""Suggests known names for a misspelt one."""

from collections.abc import Iterable
from heapq import nlargest

__all__ = ["did_you_mean", "near_names"]

_ALIKE = 0.8
"""How alike two names must be, from 0 to 1."""
_SHORT, _ALIKE_IF_SHORT = 4, 0.65
"""A name of at most so many characters needs less likeness: one wrong letter is a third of `why`."""

_NAME_CHARACTERS = 1_000
"""Longest name for which others are suggested. No known name is as long; that of a file may have a MiB."""
_CHARACTERS_LIMIT = 4_000_000
"""Characters of all known names that are looked at: about a second. Later names are not suggested."""
_PAIRS_LIMIT = 250_000
"""Pairs of a character of the name and one of a known name that are compared closely: up to a quarter of a
second. Peers choose the known names, and names of the same letters take long."""


def near_names(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Known names that look like `name`, the nearest first; case, blanks and separators do not count.

    One that differs in nothing else is the only one. A name of more than 1,000 characters has none.
    """
    if len(name) > _NAME_CHARACTERS:
        return []
    by_plain: dict[str, list[str]] = {}
    left = _CHARACTERS_LIMIT
    for each in known:
        left -= len(each)
        if left < 0:
            break
        by_plain.setdefault(_plain(each), []).append(each)
    plain_name = _plain(name)
    if plain_name in by_plain and name not in by_plain[plain_name]:
        return by_plain[plain_name][:most]
    found = _alike_names(plain_name, by_plain, most)
    return [each for plain in found for each in by_plain[plain]][:most]


def _alike_names(name: str, known: Iterable[str], most: int) -> list[str]:
    """Find the known names that are alike enough, the nearest first, as `difflib.get_close_matches` does.

    The names with the highest upper bound of their likeness are compared first.
    """
    from difflib import SequenceMatcher  # only a name that is not known needs it

    alike = _ALIKE_IF_SHORT if len(name) <= _SHORT else _ALIKE
    matcher = SequenceMatcher()
    matcher.set_seq2(name)
    promising = []
    for each in known:
        matcher.set_seq1(each)
        if matcher.real_quick_ratio() >= alike and (bound := matcher.quick_ratio()) >= alike:
            promising.append((bound, each))
    found: list[tuple[float, str]] = []
    left = _PAIRS_LIMIT
    for bound, each in sorted(promising, reverse=True):
        left -= len(name) * len(each)
        if left < 0 or (len(found) == most and bound < found[-1][0]):
            break
        matcher.set_seq1(each)
        if (ratio := matcher.ratio()) >= alike:
            found = nlargest(most, [*found, (ratio, each)])
    return [each for _, each in found]


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
