"""Compares journals with a warehouse: whether it has the records of every segment.

A run does not list all of a store each time (`pipeline/ingest/loaded_segments.py`). This check does.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from namekeeper.pipeline.checks.checking import SHOWN, CheckFinding
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.ledger import Ledger
from namekeeper.pipeline.ingest.loaded_segments import LoadedSegments
from namekeeper.pipeline.ingest.segments import Segment, list_segments
from namekeeper.pipeline.store.stores import open_store

__all__ = ["check_journals"]

LISTED_AT_ONCE = 8
"""Folders; a store answers a listing of 1,000 names at a time, so most of the time is spent waiting."""
_MEANING = (
    "segments whose records the warehouse lacks: a run takes them when it lists everything, an hour after the"
    " last time or at once with `pipeline run --check`; it leaves out those that can't be read, and journals"
    " that overlap"
)


def check_journals(warehouse: Folder, journals: Sequence[Folder]) -> list[CheckFinding]:
    """Segments of journals whose records the warehouse lacks, as one finding.

    Args:
        warehouse: Its folder.
        journals: Folders with segments in them or below them; each is listed completely.

    Raises:
        JournalFolderError: A folder is not there, can't be read, or has files but nothing of a journal.
        WarehouseError: There is no warehouse, or its ledger can't be read.
    """
    data = open_store(warehouse).version().ledger
    ledger = Ledger() if data is None else Ledger.from_json(data)

    def lacking(journal: Folder) -> list[Segment]:
        found = list_segments([journal], LoadedSegments(ledger)).segments
        return [segment for segment in found if not ledger.has(segment)]

    with ThreadPoolExecutor(LISTED_AT_ONCE, "listing") as pool:
        segments = [segment for found in pool.map(lacking, journals) for segment in found]
    if not segments:
        return []
    shown = [{"namesrv": segment.namesrv, "segment": segment.path} for segment in segments[:SHOWN]]
    return [CheckFinding("journals", Level.CONCERN, _MEANING, len(segments), shown)]
