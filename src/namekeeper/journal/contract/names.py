"""Names of the files in a journal's folder: who wrote a segment, in which boot, which records it holds."""

import re

from msgspec import Struct

from namekeeper.common.segment_names import NAMESRV_ID, SEGMENT_NAME

__all__ = ["SegmentName", "id_of_host", "is_valid_id"]

_ID = re.compile(NAMESRV_ID)
_ID_LIMIT = 120
"""A file name may have 255 characters; the rest of a segment's has 63."""


class SegmentName(Struct, frozen=True, kw_only=True):
    """What the name of a segment says (contract/v1.json)."""

    namesrv: str
    uuid8: str
    """The first eight digits of the folder's UUID."""
    boot: int
    first_seq: int
    last_seq: int | None = None
    """None while it is open: how far it goes is not known before it is sealed."""
    form: str = ".open"
    """`.open`, `.gz` when sealed, or empty when somebody unpacked it."""

    def __str__(self) -> str:
        """The file's name."""
        last = "" if self.last_seq is None else f"-{self.last_seq:012}"
        return f"{self.namesrv}-{self.uuid8}-{self.boot:013}-{self.first_seq:012}{last}.jsonl{self.form}"

    @property
    def is_open(self) -> bool:
        """Whether it is being written, or was when its writer died."""
        return self.form == ".open"

    @property
    def order(self) -> tuple[int, int, bool, int]:
        """By boot and place in it; where two begin at one place, the longer sealed one comes first."""
        return (self.boot, self.first_seq, self.is_open, -(self.last_seq or 0))

    @classmethod
    def parse(cls, text: str) -> "SegmentName | None":
        """Read a file's name; None if it isn't that of a segment."""
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
    """The id that a name server has unless told otherwise: `<host>_<port>`, other characters replaced."""
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]", "_", host)).strip("-")
    return f"{plain[: _ID_LIMIT - 6].rstrip('-') or 'namesrv'}_{port}"
