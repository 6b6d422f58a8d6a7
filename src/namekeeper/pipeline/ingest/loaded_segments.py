"""Which segments a run need not list, because the ledger has their records.

A folder of this machine is listed completely: a million known names take about a second. A store lists
1,000 names at a time. There a run skips to the last records that it has of each journal, so it does not see
a segment that was shipped late, was repaired, or belongs to an older boot. Therefore a run lists everything
when the last complete listing is `LISTED_EVERY_MS` old.
"""

import hashlib
import json
from collections.abc import Callable, Iterable

from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.ingest.ledger import Ledger

__all__ = ["LISTED_EVERY_MS", "CompleteListings", "LoadedSegments"]

LISTED_EVERY_MS = 60 * 60 * 1_000
"""After this time a run lists a store completely again."""

_COMPRESSED = ".jsonl.gz"
_RANGE_LENGTH = len("-000000000001-000000000100.jsonl.gz")
_BOOT_LENGTH = len("-1772323200000")
_NAME = "listed.json"


class LoadedSegments:
    """The segments whose records are in the warehouse, by their names."""

    def __init__(self, ledger: Ledger) -> None:
        self.found = 0
        self.skips = 0
        self._ranges: dict[str, tuple[str, str]] = {}
        """Start of a file name -> first and last seq, as names have them, of a boot without a gap."""
        newest: dict[tuple[str, str], tuple[int, int]] = {}
        for key, loaded in ledger.boots.items():
            namesrv, uuid8, boot = key
            if len(loaded.ranges) == 1:
                first, last = loaded.ranges[0]
                self._ranges[f"{namesrv}-{uuid8}-{boot:013}"] = f"{first:012}", f"{last:012}{_COMPRESSED}"
            last_seq = loaded.ranges[-1][1] if loaded.ranges else 0
            newest[key[:2]] = max((boot, last_seq), newest.get(key[:2], (0, 0)))
        self._ends = {
            f"{namesrv}-{uuid8}": f"{namesrv}-{uuid8}-{boot:013}-{last_seq + 1:012}"
            for (namesrv, uuid8), (boot, last_seq) in newest.items()
        }

    def has(self, name: str) -> bool:
        """Whether the records of a segment are in the warehouse; False also if that takes longer to say.

        A listing calls it for each of a million names.
        """
        loaded = self._ranges.get(name[:-_RANGE_LENGTH])
        if loaded is None:
            return False
        first, last = loaded
        if first <= name[-34:-22] and name[-21:] <= last:
            self.found += 1
            return True
        return False

    def end_after(self, path: str) -> str | None:
        """The end of what is in the warehouse of the same journal, if it comes after a path."""
        folder, slash, name = path.rpartition("/")
        end = self._ends.get(name[: -_RANGE_LENGTH - _BOOT_LENGTH])
        if end is None or end <= name:
            return None
        self.skips += 1
        return f"{folder}{slash}{end}"


class CompleteListings:
    """When the stores with journals were last listed completely; a small file of the warehouse says it."""

    def __init__(self, warehouse: Folder, now_ms: Callable[[], int]) -> None:
        self._warehouse = warehouse
        self._now_ms = now_ms

    def still_valid(self, folders: Iterable[Folder]) -> list[Folder]:
        """The folders that need no complete listing now; those of this machine always get one."""
        stores = [folder for folder in folders if not isinstance(folder, LocalFolder)]
        if not stores:
            return []
        listed, now_ms = self._read(), self._now_ms()
        return [
            folder
            for folder in stores
            if (at_ms := listed.get(_id(folder))) is not None and 0 <= now_ms - at_ms < LISTED_EVERY_MS
        ]

    def note(self, folders: Iterable[Folder]) -> None:
        """Note that folders were listed completely just now."""
        stores = [_id(folder) for folder in folders if not isinstance(folder, LocalFolder)]
        if stores:
            listed = self._read() | dict.fromkeys(stores, self._now_ms())
            self._warehouse.put(_NAME, json.dumps(listed).encode())

    def _read(self) -> dict[str, int]:
        """Id of a folder -> ms since 1970; nothing if the file is damaged."""
        try:
            listed = json.loads(self._warehouse.read(_NAME))
            return {name: int(at_ms) for name, at_ms in listed.items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
            return {}


def _id(folder: Folder) -> str:
    """A name of a folder that shows nothing of its URI, which may have a password."""
    return hashlib.sha256(folder.uri.encode()).hexdigest()[:32]
