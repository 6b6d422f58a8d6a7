"""What a warehouse consists of, as one small file: which data files make up each table, and the settings.

A run writes new data files beside the old ones, then the manifest with the next number, in one atomic step.
Readers take the newest manifest and read the files that it names: they see a run whole or not at all, and
files of a run that died are never seen.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.store.checked_json import decode_checked, encode_checked

__all__ = [
    "LAYOUT",
    "MANIFESTS",
    "Catalog",
    "DataFile",
    "Manifest",
    "commit_manifest",
    "newest_manifest",
    "numbers_of",
    "path_of",
]

LAYOUT = 1
"""Version of the layout of a warehouse that this code reads and writes."""

MANIFESTS = "manifests"

_NAME = re.compile(r"^manifests/([0-9]{12})\.json$")


class DataFile(NamedTuple):
    """A data file of a table."""

    path: str
    """Below the warehouse."""
    size: int
    """Bytes."""
    value: str | None = None
    """Value of the column that the table is partitioned by, if it is."""
    crc: int | None = None
    """CRC-32 of the file; None: not known, because the folder is not of this machine."""


class Catalog(NamedTuple):
    """A namespace of a catalog of Spark's that has the tables of a warehouse."""

    format: str
    """`iceberg` or `delta`."""
    namespace: str
    """With the name of the catalog before it, as in `nk.namekeeper`."""
    mark: str
    """Of the warehouse; each of its tables has it as a property."""
    versions: Mapping[str, int] = {}
    """Name of a table -> which version of it is valid, as its format counts them."""

    @property
    def location(self) -> str:
        """As people write it."""
        return f"{self.format}:{self.namespace}"


class Manifest(NamedTuple):
    """The warehouse as one run left it."""

    number: int
    next_load: int
    """The smallest load id that no run has committed or could have used."""
    report_time_zone: str
    """Zone that defines what a day is; fixed when the warehouse is made."""
    ledger: str
    """Path of the file that says which segments are in; empty: none yet."""
    tables: Mapping[str, Sequence[DataFile]]
    """Of a warehouse of files."""
    catalog: Catalog | None = None
    """Where the tables are, if they are not files of the warehouse."""

    def to_json(self) -> bytes:
        """As it is written."""
        tables = {name: [list(part) for part in parts] for name, parts in sorted(self.tables.items())}
        members = {"layout": LAYOUT, **self._asdict(), "tables": tables}
        if self.catalog is None:
            del members["catalog"]
        else:
            members["catalog"] = self.catalog._asdict()
        return encode_checked(members)

    @classmethod
    def from_json(cls, data: bytes, where: str) -> "Manifest":
        """A manifest that was written.

        Args:
            data: The file.
            where: Its path, for the message.

        Raises:
            WarehouseError: It has another layout, or is damaged.
        """
        try:
            members = decode_checked(data)
            layout = members.pop("layout")
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(where) from error
        if layout != LAYOUT:
            raise WarehouseError(_other_layout(where, layout))
        try:
            tables = {
                name: tuple(DataFile(*part) for part in parts) for name, parts in members["tables"].items()
            }
            catalog = Catalog(**members["catalog"]) if "catalog" in members else None
            return cls(**{**members, "tables": tables, "catalog": catalog})
        except (TypeError, KeyError, AttributeError) as error:
            raise _damaged(where) from error


def path_of(number: int) -> str:
    """Path of the manifest with this number."""
    return f"{MANIFESTS}/{number:012}.json"


def numbers_of(warehouse: Folder) -> list[int]:
    """Numbers of the manifests that there are, the oldest first."""
    found = (_NAME.match(file.path) for file in warehouse.files(MANIFESTS))
    return sorted(int(match[1]) for match in found if match)


def newest_manifest(warehouse: Folder) -> Manifest | None:
    """The warehouse as the last run left it, None if there is none.

    Raises:
        WarehouseError: It can't be read, or there are tables without a manifest.
    """
    try:
        # A run may delete the newest that was listed only after it has written newer ones: look again.
        while numbers := numbers_of(warehouse):
            path = path_of(numbers[-1])
            try:
                return Manifest.from_json(warehouse.read(path), f"{warehouse.uri}/{path}")
            except FileNotFoundError:
                continue
    except OSError as error:
        raise WarehouseError(f"{warehouse.uri} can't be read: {error}") from error
    return None


def commit_manifest(warehouse: Folder, manifest: Manifest) -> None:
    """Make `manifest` the warehouse, in one step.

    Raises:
        WarehouseError: Another run has committed since.
    """
    if not warehouse.put_new(path_of(manifest.number), manifest.to_json()):
        raise WarehouseError(
            f"{warehouse.uri}: another run has committed meanwhile; nothing of this one is kept, run it again"
        )


def _damaged(where: str) -> WarehouseError:
    return WarehouseError(f"{where} is damaged; delete this one file to go back to the run before it")


def _other_layout(where: str, layout: object) -> str:
    if isinstance(layout, int) and layout > LAYOUT:
        return f"{where} has layout {layout}, this Namekeeper knows up to {LAYOUT}: use the newer Namekeeper"
    return (
        f"{where} has layout {layout}, this Namekeeper needs {LAYOUT}: build a new warehouse from the"
        " journals in another folder, or read this one with the Namekeeper that made it"
    )
