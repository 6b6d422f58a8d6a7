"""Opens a warehouse; its newest manifest tells its kind."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.store.catalog_store import CatalogStore, parse_location
from namekeeper.pipeline.store.manifest import Manifest, newest_manifest
from namekeeper.pipeline.store.parquet_store import ParquetStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Store", "open_or_make_store", "open_store"]

Store = ParquetStore | CatalogStore


def open_store(warehouse: Folder) -> Store:
    """The warehouse in a folder; if there is none, its first use raises an error."""
    manifest = newest_manifest(warehouse)
    return ParquetStore(warehouse) if manifest is None else _store(warehouse, manifest)


def open_or_make_store(
    warehouse: Folder,
    report_time_zone: str | None,
    location: str | None,
    names: Collection[str],
    session: Callable[[], "SparkSession"],
) -> Store:
    """The warehouse in a folder, made if it is not there; the caller holds its lock.

    Args:
        warehouse: The folder.
        report_time_zone: Time zone of days; None: that of the warehouse, or UTC for a new one.
        location: Location of the tables, as in `iceberg:nk.namekeeper`; None: that of the warehouse, or
            files.
        names: Names of the tables of a new warehouse.
        session: Gives the session, if one is needed.

    Raises:
        WarehouseError: It can't be used, or has another time zone or location.
    """
    manifest = newest_manifest(warehouse)
    if manifest is not None:
        _check_same(warehouse, manifest, report_time_zone, location)
        return _store(warehouse, manifest)
    zone = report_time_zone or "UTC"
    if location is None:
        files = ParquetStore(warehouse)
        files.create(zone)
        return files
    tables = CatalogStore(warehouse)
    parse_location(location)  # fails before Spark is started
    tables.create(session(), location, zone, names)
    return tables


def _store(warehouse: Folder, manifest: Manifest) -> Store:
    return ParquetStore(warehouse) if manifest.catalog is None else CatalogStore(warehouse)


def _check_same(
    warehouse: Folder, manifest: Manifest, report_time_zone: str | None, location: str | None
) -> None:
    if report_time_zone not in {None, manifest.report_time_zone}:
        raise WarehouseError(
            f"{warehouse.uri} has days of {manifest.report_time_zone}, not of {report_time_zone}, and they"
            " can't be changed; leave --report-time-zone out, or build a new warehouse in another folder"
        )
    is_in = manifest.catalog.location if manifest.catalog else "files below it"
    if location not in {None, is_in}:
        raise WarehouseError(
            f"{warehouse.uri} has its tables in {is_in}, not in {location}, and they can't be moved; leave"
            " --tables out, or build a new warehouse in another folder"
        )
