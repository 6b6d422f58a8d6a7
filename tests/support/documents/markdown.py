"""What of a Markdown text others can refer to: headings, numbered items, rows; and where its links lead."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Document", "Section", "anchor_of", "links_of", "read_document"]

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")
_NUMBER = re.compile(r"^(\d+(?:\.\d+)*)\.?(?: |$)")
_ITEM = re.compile(r"^(\d+)\. ")
_ROW = re.compile(r"^\| *`?([A-Z]\d+)`? *\|")
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


@dataclass
class Section:
    """One heading with what stands below it, up to the next heading."""

    title: str
    anchor: str
    number: str | None
    steps: set[int] = field(default_factory=set)


@dataclass
class Document:
    """The places of a Markdown text that can be referred to."""

    sections: list[Section]
    rows: set[str]
    """First cells such as `T12` and `V3`."""

    @property
    def anchors(self) -> set[str]:
        return {section.anchor for section in self.sections}

    def section(self, number: str) -> Section | None:
        """The section with this number, e.g. `4.4`."""
        return next((section for section in self.sections if section.number == number), None)


def anchor_of(title: str) -> str:
    """The anchor that a heading gets: lower case, no punctuation, hyphens for blanks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def read_document(text: str) -> Document:
    """Find the headings, numbered items and lettered rows of a text."""
    sections: list[Section] = []
    rows: set[str] = set()
    seen: Counter[str] = Counter()
    for line in _prose(text):
        heading = _HEADING.match(line)
        if heading:
            title = heading[2]
            anchor = anchor_of(title)
            number = _NUMBER.match(title)
            repeated = f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor
            sections.append(Section(title, repeated, number[1] if number else None))
            seen[anchor] += 1
        elif (item := _ITEM.match(line)) and sections:
            sections[-1].steps.add(int(item[1]))
        elif row := _ROW.match(line):
            rows.add(row[1])
    return Document(sections, rows)


def links_of(text: str) -> list[str]:
    """Return the targets of all links and images outside of code."""
    return [target for line in _prose(text) for target in _LINK.findall(_CODE.sub("", line))]


def _prose(text: str) -> Iterator[str]:
    """Lines outside of fenced code."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or fence == mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            yield line
