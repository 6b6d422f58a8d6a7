"""The folder of every warehouse, wherever its tables are: manifests, ledgers and load ids.

WAREHOUSE/manifests/000000000012.json    what is valid; the newest counts
WAREHOUSE/ledger/000000000012.json       which segments are in
WAREHOUSE/loads/7                        load id 7 is taken
"""

import time
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.store.manifest import (
    MANIFESTS,
    Manifest,
    commit_manifest,
    newest_manifest,
    numbers_of,
    path_of,
)

__all__ = ["KEPT_MANIFESTS", "KEPT_MS", "SCRATCH", "Version", "WarehouseFolder", "commit_run"]

KEPT_MANIFESTS = 3
"""This many manifests, with their files, are always kept ..."""
KEPT_MS = 60 * 60 * 1_000
"""... and all younger than this: a reader that began before a run may still need them."""

SCRATCH = "staging"
"""Folder for temporary files of a run."""

_LEDGERS = "ledger"
_LOADS = "loads"


class Version(NamedTuple):
    """The state of a warehouse after one commit."""

    manifest: Manifest
    ledger: bytes | None
    """None if there is none, or its file is lost."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever committed."""
        catalog = self.manifest.catalog
        return not (self.manifest.tables or (catalog and catalog.versions))


class WarehouseFolder:
    """The folder of a warehouse, for every kind of table."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def uri(self) -> str:
        """URI of the folder."""
        return self._folder.uri

    def check_free(self) -> None:
        """Make sure that a warehouse can be made here.

        Raises:
            WarehouseError: There are files of something else.
        """
        # The first run may have died before its first manifest.
        known = ("lock", f"{SCRATCH}/", f"{_LOADS}/", f"{MANIFESTS}/")
        others = (file.path for file in self._folder.files() if not file.path.startswith(known))
        if (other := next(others, None)) is not None:
            raise WarehouseError(
                f"{self.uri} has no manifest but other files ({other}): give an empty folder; if it is a"
                " warehouse, restore its folder manifests/"
            )

    def version(self) -> Version:
        """The last commit: its manifest and the ledger of the same commit."""
        while True:
            manifest = self._newest()
            try:
                return Version(manifest, self._folder.read(manifest.ledger) if manifest.ledger else None)
            except FileNotFoundError:
                # A run deletes a ledger with its manifest, after newer ones are there.
                if self._newest() == manifest:
                    return Version(manifest, None)

    def _newest(self) -> Manifest:
        manifest = newest_manifest(self._folder)
        if manifest is None:
            raise WarehouseError(f"{self.uri} is no warehouse: `namekeeper pipeline run` makes one")
        return manifest

    def _take_load(self, manifest: Manifest) -> int:
        """A load id that was never used."""
        taken = [load for load in self._taken_loads() if load >= manifest.next_load]
        load_id = max(taken, default=manifest.next_load - 1) + 1
        while not self._folder.put_new(f"{_LOADS}/{load_id}", b""):
            load_id += 1
        return load_id

    def _taken_loads(self) -> list[int]:
        names = (file.path.rpartition("/")[2] for file in self._folder.files(_LOADS))
        return [int(name) for name in names if name.isdigit()]

    def _drop_what_is_old(self) -> Sequence[Manifest]:
        """Delete old manifests with their ledgers, and leftovers of dead runs.

        Returns:
            The manifests that are kept; the newest is the last.
        """
        manifests = self._drop_old_manifests()
        ledgers = {manifest.ledger for manifest in manifests}
        for file in list(self._folder.files(_LEDGERS)):
            if file.path not in ledgers:
                self._folder.delete(file.path)
        for load_id in self._taken_loads():
            if load_id < manifests[-1].next_load:
                self._folder.delete(f"{_LOADS}/{load_id}")
        self._drop_scratch(manifests[-1].next_load)
        return manifests

    def _drop_scratch(self, next_load: int) -> None:
        """Delete temporary files of finished loads. A run that took over a lost lease has a later load."""
        folders = {file.path.split("/")[1] for file in self._folder.files(SCRATCH)}
        for name in folders:
            load_id = name.partition("-")[0]
            if not load_id.isdigit() or int(load_id) < next_load:
                self._folder.delete(f"{SCRATCH}/{name}")
        if next(self._folder.files(SCRATCH), None) is None:
            self._folder.delete(SCRATCH)

    def _drop_old_manifests(self) -> list[Manifest]:
        now_ms = int(time.time() * 1_000)
        modified = {file.path: file.modified_ms for file in self._folder.files(MANIFESTS)}
        numbers = numbers_of(self._folder)
        kept = []
        for number in numbers:
            path = path_of(number)
            if number not in numbers[-KEPT_MANIFESTS:] and now_ms - (modified.get(path) or 0) > KEPT_MS:
                self._folder.delete(path)
            else:
                kept.append(Manifest.from_json(self._folder.read(path), path))
        return kept


def commit_run(folder: Folder, manifest: Manifest, ledger: bytes) -> Version:
    """Make a run's manifest the warehouse, with its ledger; returns the new version.

    Args:
        folder: That of the warehouse.
        manifest: The new manifest; its path of the ledger is set here.
        ledger: The records that are in the warehouse after this run.

    Raises:
        WarehouseError: Another run has committed since.
    """
    path = f"{_LEDGERS}/{manifest.number:012}-{uuid.uuid4().hex[:8]}.json"
    folder.put(path, ledger)
    committed = manifest._replace(ledger=path)
    commit_manifest(folder, committed)
    return Version(committed, ledger)
