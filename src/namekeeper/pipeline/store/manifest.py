"""The manifest of a warehouse, one small file: the data files of each table, and the settings.

A run writes new data files beside the old ones, then the manifest with the next number, in one atomic step.
Readers take the newest manifest and read the files that it names. So they see a run completely or not at all,
and never see files of a dead run.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.store.checked_json import decode_checked, encode_checked, is_count, is_text

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
_ZONE = re.compile(r"[A-Za-z0-9+_:-]{1,64}(?:/[A-Za-z0-9+_-]{1,64}){0,3}")
"""Names of zones, as in America/Argentina/Buenos_Aires and GMT+05:00."""
_PATH_CHARACTERS = 4_096
"""Linux has no longer paths."""


class DataFile(NamedTuple):
    """A data file of a table."""

    path: str
    """Below the warehouse."""
    size: int
    """Bytes."""
    value: str | None = None
    """Value of the partition column, if the table is partitioned."""
    crc: int | None = None
    """CRC-32 of the file; None for a folder of another machine."""


class Catalog(NamedTuple):
    """A namespace of a Spark catalog with the tables of a warehouse."""

    format: str
    """`iceberg` or `delta`."""
    namespace: str
    """With the name of the catalog before it, as in `nk.namekeeper`."""
    mark: str
    """Id of the warehouse; each of its tables has it as a property."""
    versions: Mapping[str, int] = {}
    """Name of a table -> its valid version, as its format numbers them."""

    @property
    def location(self) -> str:
        """The location as people write it."""
        return f"{self.format}:{self.namespace}"


class Manifest(NamedTuple):
    """The warehouse as one run left it."""

    number: int
    next_load: int
    """The smallest load id that no run can have used."""
    report_time_zone: str
    """Time zone of days; fixed when the warehouse is made."""
    ledger: str
    """Path of the ledger; empty: none yet."""
    tables: Mapping[str, Sequence[DataFile]]
    """Data files by table, in a warehouse of files."""
    catalog: Catalog | None = None
    """The catalog of the tables, if they are not files of the warehouse."""

    def to_json(self) -> bytes:
        """The manifest as JSON."""
        tables = {name: [list(part) for part in parts] for name, parts in sorted(self.tables.items())}
        members = {"layout": LAYOUT, **self._asdict(), "tables": tables}
        if self.catalog is None:
            del members["catalog"]
        else:
            members["catalog"] = self.catalog._asdict()
        return encode_checked(members)

    @classmethod
    def from_json(cls, data: bytes, where: str) -> "Manifest":
        """Read a manifest from JSON.

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
            manifest = cls(**{**members, "tables": tables, "catalog": catalog})
        except (TypeError, KeyError, AttributeError) as error:
            raise _damaged(where) from error
        if not _is_usable(manifest):
            raise _damaged(where)
        return manifest


def path_of(number: int) -> str:
    """Path of the manifest with this number."""
    return f"{MANIFESTS}/{number:012}.json"


def numbers_of(warehouse: Folder) -> list[int]:
    """Numbers of all manifests, the oldest first.

    Raises:
        WarehouseError: They can't be listed.
    """
    try:
        found = [_NAME.match(file.path) for file in warehouse.files(MANIFESTS)]
    except OSError as error:
        raise _unreadable(warehouse, error) from error
    return sorted(int(match[1]) for match in found if match)


def newest_manifest(warehouse: Folder) -> Manifest | None:
    """The warehouse as the last run left it, None if there is none.

    Raises:
        WarehouseError: It can't be read, or there are tables without a manifest.
    """
    try:
        # A run deletes a listed manifest only after it has written newer ones: list again.
        while numbers := numbers_of(warehouse):
            path = path_of(numbers[-1])
            try:
                return Manifest.from_json(warehouse.read(path), f"{warehouse.uri}/{path}")
            except FileNotFoundError:
                continue
    except OSError as error:
        raise _unreadable(warehouse, error) from error
    return None


def commit_manifest(warehouse: Folder, manifest: Manifest) -> None:
    """Make `manifest` the warehouse, in one step.

    Raises:
        WarehouseError: Another run has committed since.
        OSError: The answer of the store is lost, and it can't be asked whether the manifest is there.
    """
    path, data = path_of(manifest.number), manifest.to_json()
    try:
        is_new = warehouse.put_new(path, data)
    except OSError:
        if not _has(warehouse, path, data):
            raise
        return
    # A client repeats a request whose answer was lost, and is refused because of the first one.
    if not is_new and not _has(warehouse, path, data):
        raise WarehouseError(
            f"{warehouse.uri}: another run has committed meanwhile; nothing of this one is kept, run it again"
        )


def _has(warehouse: Folder, path: str, data: bytes) -> bool:
    """Whether a file has these bytes; those of other runs name other ledgers."""
    found = warehouse.read_versioned(path)
    return found is not None and found.data == data


def _is_usable(manifest: Manifest) -> bool:
    """Whether each value has its type, and each path stays below the warehouse: others may write there."""
    catalog = manifest.catalog
    return (
        is_count(manifest.number)
        and is_count(manifest.next_load)
        and is_text(manifest.report_time_zone)
        and _ZONE.fullmatch(manifest.report_time_zone) is not None
        and (manifest.ledger == "" or _is_below(manifest.ledger))
        and all(_is_data_file(part) for parts in manifest.tables.values() for part in parts)
        and (catalog is None or _is_catalog(catalog))
    )


def _is_data_file(part: DataFile) -> bool:
    return (
        _is_below(part.path)
        and is_count(part.size)
        and (part.value is None or is_text(part.value))
        and (part.crc is None or is_count(part.crc))
    )


def _is_catalog(catalog: Catalog) -> bool:
    versions: object = catalog.versions
    return (
        all(map(is_text, (catalog.format, catalog.namespace, catalog.mark)))
        and isinstance(versions, dict)
        and all(map(is_count, versions.values()))
    )


def _is_below(path: object) -> bool:
    return (
        isinstance(path, str)
        and len(path) <= _PATH_CHARACTERS
        and path.isprintable()
        and not any(part in {"", ".", ".."} for part in path.split("/"))
    )


def _unreadable(warehouse: Folder, error: OSError) -> WarehouseError:
    return WarehouseError(f"{warehouse.uri} can't be read: {error}")


def _damaged(where: str) -> WarehouseError:
    return WarehouseError(f"{where} is damaged; delete this one file to go back to the run before it")


def _other_layout(where: str, layout: object) -> str:
    if isinstance(layout, int) and layout > LAYOUT:
        return f"{where} has layout {layout}, this Namekeeper knows up to {LAYOUT}: use the newer Namekeeper"
    return (
        f"{where} has layout {layout}, this Namekeeper needs {LAYOUT}: build a new warehouse from the"
        " journals in another folder, or read this one with the Namekeeper that made it"
    )
