"""Shared queue specs of registrations: a table of a million topics holds only a few different ones.

There are two bounded caches: one by the numbers of a JSON topic configuration, one by the text after the name
in a compressed body. Each topic of a registration costs one lookup in one of them.
"""

from namekeeper.messages.fields import INT32_MAX, INT32_MIN, parse_decimal
from namekeeper.model.topic import QueueSpec

__all__ = ["MAX_SPECS", "MAX_TEXT_BYTES", "QueueNumbers", "specs_by_numbers", "specs_by_text"]

MAX_SPECS = 65_536
"""Entries of each cache before it is emptied: real clusters have dozens, an odd broker thousands."""

MAX_TEXT_BYTES = 256
"""Longest text that is cached; attributes can make a text longer, and would make the cache large."""

_FILTER_TYPES = frozenset({b"SINGLE_TAG", b"MULTI_TAG"})

QueueNumbers = tuple[int | None, int | None, int | None, int | None]
"""readQueueNums, writeQueueNums, perm, topicSysFlag; None where the text has `null`, which is 0."""


class _SpecsByNumbers(dict[QueueNumbers, QueueSpec]):
    """Numbers of a topic configuration -> the one QueueSpec for them."""

    def __missing__(self, numbers: QueueNumbers) -> QueueSpec:
        spec = QueueSpec(*(number or 0 for number in numbers))
        if len(self) >= MAX_SPECS:
            self.clear()
        self[numbers] = spec
        return spec


class _SpecsByText(dict[bytes, QueueSpec]):
    """Text after the name in a topic string (protocol.md 3.4) -> its QueueSpec.

    The text is that of a 4.x or 5.x writer: `8 8 6 SINGLE_TAG {"a":"b"}`, attributes not being used. A text
    that Java refuses raises ValueError with the reason.
    """

    def __missing__(self, text: bytes) -> QueueSpec:
        parts = text.split(b" ", 4)
        if len(parts) < 4 or parts[3] not in _FILTER_TYPES:
            raise ValueError(_explain(parts))
        read, write, perm = (
            parse_decimal(part.decode("ascii", "replace"), INT32_MIN, INT32_MAX) for part in parts[:3]
        )
        spec = specs_by_numbers[read, write, perm, 0]
        if len(text) <= MAX_TEXT_BYTES:
            if len(self) >= MAX_SPECS:
                self.clear()
            self[text] = spec
        return spec


specs_by_numbers = _SpecsByNumbers()
specs_by_text = _SpecsByText()


def _explain(parts: list[bytes]) -> str:
    if len(parts) < 4:
        return f"has {len(parts) + 1} parts instead of 5 or more"
    return f"has an unknown filter type {parts[3][:32]!r}"
