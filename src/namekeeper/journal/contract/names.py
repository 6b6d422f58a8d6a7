"""Names of segments: the writer of the file, the boot, and the range of records in it."""

import re

from msgspec import Struct

from namekeeper.common.segment_names import NAMESRV_ID, SEGMENT_NAME

__all__ = ["SegmentName", "id_of_host", "is_valid_id"]

_ID = re.compile(NAMESRV_ID)
_ID_LIMIT = 120
"""A file name may have 255 characters, and the rest of a segment's name has 63."""


class SegmentName(Struct, frozen=True, kw_only=True):
    """The parts of a segment's name (`v1.json`)."""

    namesrv: str
    uuid8: str
    """The first eight digits of the folder's UUID."""
    boot: int
    first_seq: int
    last_seq: int | None = None
    """None while the segment is open."""
    form: str = ".open"
    """`.open`, `.gz` if sealed, or empty if sealed and then unpacked manually."""

    def __str__(self) -> str:
        """The file's name."""
        last = "" if self.last_seq is None else f"-{self.last_seq:012}"
        return f"{self.namesrv}-{self.uuid8}-{self.boot:013}-{self.first_seq:012}{last}.jsonl{self.form}"

    @property
    def is_open(self) -> bool:
        """Whether the segment is not sealed: it is being written, or its writer crashed."""
        return self.form == ".open"

    @property
    def order(self) -> tuple[int, int, bool, int]:
        """Sort key: boot, then first seq; of two equal ones, the sealed and longer one comes first."""
        return (self.boot, self.first_seq, self.is_open, -(self.last_seq or 0))

    @classmethod
    def parse(cls, text: str) -> "SegmentName | None":
        """Parse the name of a file; None if it is not the name of a segment."""
        match = SEGMENT_NAME.fullmatch(text)
        if match is None or (match["form"] == ".open") != (match["last_seq"] is None):
            return None
        return cls(
            namesrv=match["namesrv"],
            uuid8=match["uuid8"],
            boot=int(match["boot"]),
            first_seq=int(match["first_seq"]),
            last_seq=None if match["last_seq"] is None else int(match["last_seq"]),
            form=match["form"],
        )


def is_valid_id(text: str) -> bool:
    """Whether a text can name a name server: letters, digits, dots, underscores, single hyphens inside."""
    return len(text) <= _ID_LIMIT and _ID.fullmatch(text) is not None


def id_of_host(host: str, port: int) -> str:
    """The default id of a name server: `<host>_<port>`, with characters that an id can't have replaced."""
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]", "_", host)).strip("-")
    return f"{plain[: _ID_LIMIT - 6].rstrip('-') or 'namesrv'}_{port}"
