"""`.heard`: when the server ran last, and when each live broker was last heard, for a restart.

Activity is recorded by the minute, so a broker with a timeout of ten seconds would expire at a start after a
crash. A server without changes writes no record either, so only this file says how long it ran. The file is
written again each second and at the stop, and only a restart reads it. It is not synced: a reboot of the
machine takes longer than such a timeout.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from namekeeper.files import FILE_BYTES, Os, read_own_file, replace_own_file
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.model.broker import BrokerKey

__all__ = ["HEARD_FILE", "HeardTimes", "load_heard", "save_heard"]

HEARD_FILE = ".heard"


class HeardTimes(msgspec.Struct, frozen=True):
    """When one boot ran last, and when each live broker was last heard in it."""

    boot: int
    brokers: list[tuple[str, str, int]]
    """Cluster, address, monotonic ms since the boot began."""
    machine: str = ""
    """The run of the machine, see `machine_boot`; empty if that is not known."""
    began_ms: int = 0
    """When the boot began: monotonic ms of that run."""
    ts: int = 0
    """Wall ms at which the server made this list; 0 if an older version wrote the file."""
    seq: int = 0
    """The last record at that time."""
    is_observed: bool = False
    """Whether an observer writes: `ts` is then the last answer of the observed name server."""

    def ran_until(self, boot: int, last_seq: int) -> int:
        """Wall ms until which a boot ran without a record after `last_seq`; 0 if that is not known.

        The file may be newer than the records that reached the disk. Then it does not count.
        """
        return self.ts if boot == self.boot and self.seq <= last_seq else 0

    def of_boot(self, boot: int) -> dict[BrokerKey, int]:
        """The times, if they are of this boot."""
        if boot != self.boot:
            return {}
        return {(cluster, addr): up_ms for cluster, addr, up_ms in self.brokers}


NOBODY = HeardTimes(0, [])


def save_heard(folder: str, times: HeardTimes, *, system: Os = os) -> None:
    """Write the file; an error is ignored, because only the restart after a crash reads it."""
    path = str(Path(folder) / HEARD_FILE)
    with contextlib.suppress(OSError):
        replace_own_file(path, msgspec.json.encode(times), is_synced=False, system=system)


def load_heard(folder: str, *, system: Os = os) -> HeardTimes:
    """Read the file; empty if there is none, or if it can't be read."""
    try:
        data = read_own_file(str(Path(folder) / HEARD_FILE), limit=FILE_BYTES, system=system)
        return NOBODY if data is None else msgspec.json.decode(data, type=HeardTimes)
    except (OSError, *UNREADABLE_JSON):
        return NOBODY
