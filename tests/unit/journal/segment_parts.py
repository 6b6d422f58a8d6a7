"""The name of an open segment and the lines of changes in it."""

from namekeeper.journal.contract.encode import Stamp
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Cluster
from tests.unit.journal.disk_parts import lines_of

__all__ = ["BOOT", "OPEN", "change"]

BOOT = 1_700_000_000_000
OPEN = SegmentName(namesrv="ns", uuid8="0123abcd", boot=BOOT, first_seq=1)


def change(first: int, records: int = 1, *, boot: int = BOOT, namesrv: str = "ns") -> bytes:
    """The lines of one change of some records."""
    stamp = Stamp(namesrv, boot, first, boot + first, first)
    return b"".join(lines_of([Cluster(cluster="c")] * records, 0, stamp))
