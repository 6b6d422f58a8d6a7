"""Disagreements of name servers as facts of an incident: texts in which names from the network stay apart."""

from collections.abc import Callable

from msgspec import Struct, structs

__all__ = ["DriftFact", "NamedText", "named"]


class NamedText(Struct, frozen=True):
    """A text of our words and of names from the network, which a reader may have to show otherwise."""

    parts: tuple[str, ...]
    """Words and names by turns; the first one and the last one are words, which may be empty."""

    def __str__(self) -> str:
        """The text with each name exactly as it is."""
        return "".join(self.parts)

    def with_names(self, show: Callable[[str], str]) -> "NamedText":
        """The text with other names.

        Args:
            show: makes a name from the network harmless.
        """
        return NamedText(tuple(show(part) if at % 2 else part for at, part in enumerate(self.parts)))

    def __add__(self, other: "NamedText") -> "NamedText":
        """Two texts, one behind the other."""
        *first, last = self.parts
        following, *rest = other.parts
        return NamedText((*first, last + following, *rest))


def named(pattern: str, *values: "str | NamedText") -> NamedText:
    """A text with a value in place of each `{}`.

    Args:
        pattern: our words.
        values: names, and texts with names.
    """
    words = pattern.split("{}")
    assert len(words) == len(values) + 1, "a value for each place"
    found = NamedText((words[0],))
    for value, following in zip(values, words[1:], strict=True):
        text = value if isinstance(value, NamedText) else NamedText(("", value, ""))
        found = found + text + NamedText((following,))
    return found


class DriftFact(Struct, frozen=True, kw_only=True):
    """One verdict on what name servers disagree about, as a part of an incident."""

    kind: str
    """The kind of the verdict, as `namekeeper drift` has it."""
    text: NamedText
    """The verdict."""
    why: str
    """The last changes at the name servers in question; empty: not known."""
    topics: tuple[str, ...] = ()
    """The first topics that it is about, sorted."""

    def with_names(self, show: Callable[[str], str]) -> "DriftFact":
        """The verdict with other names; see `NamedText.with_names`."""
        return structs.replace(self, text=self.text.with_names(show), why=show(self.why))
