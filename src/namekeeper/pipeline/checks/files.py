"""Checks the files of a warehouse against its manifest: whether each is there, as it was written."""

from collections.abc import Iterator

from namekeeper.pipeline.checks.checking import SHOWN, CheckFinding
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.ledger import Ledger
from namekeeper.pipeline.store.manifest import DataFile, Manifest, newest_manifest
from namekeeper.pipeline.store.sums import sum_of

__all__ = ["check_files"]


def check_files(warehouse: Folder) -> list[CheckFinding]:
    """Problems of the files that the newest manifest names; every byte of them is read.

    Args:
        warehouse: Its folder.

    Raises:
        WarehouseError: The manifest can't be read, or was altered.
    """
    manifest = newest_manifest(warehouse)
    if manifest is None:
        return []
    wrong = [{"file": path, "what": what} for path, what in _wrong(warehouse, manifest)]
    if not wrong:
        return []
    meaning = "files that are missing, or were altered since they were written: build the warehouse again"
    return [CheckFinding("files", Level.BROKEN, meaning, len(wrong), wrong[:SHOWN])]


def _wrong(warehouse: Folder, manifest: Manifest) -> Iterator[tuple[str, str]]:
    if manifest.ledger:
        try:
            Ledger.from_json(warehouse.read(manifest.ledger))
        except FileNotFoundError:
            yield manifest.ledger, "missing; the next run rebuilds it"
        except WarehouseError as error:
            yield manifest.ledger, str(error)
    files = {part.path: part for parts in manifest.tables.values() for part in parts}
    for path, part in sorted(files.items()):
        what = _what_is_wrong(warehouse, part)
        if what:
            yield path, what


def _what_is_wrong(warehouse: Folder, part: DataFile) -> str:
    size = warehouse.size(part.path)
    if part.crc is None or size > part.size:  # one that has grown is not read: it may have no end
        return "" if size == part.size else f"not {part.size} bytes, as written"
    try:
        return "" if sum_of(warehouse, part.path) == part.crc else "altered"
    except FileNotFoundError:
        return "missing"
