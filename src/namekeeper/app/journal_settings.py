"""The settings of the journal, from those of the server."""

import socket
from pathlib import Path

from namekeeper import __version__
from namekeeper.common.namesrv_clusters import LABEL_RULE, is_valid_label
from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import ConfigError
from namekeeper.journal.contract.names import id_of_host, is_valid_id
from namekeeper.journal.settings import (
    DAY_MS,
    Fsync,
    JournalSettings,
    Limits,
    SegmentSettings,
    WriterSettings,
)

__all__ = ["check_names", "journal_folder", "journal_settings", "writer_settings"]

HOUR_MS = 3_600_000


def journal_folder(settings: NamesrvSettings, port: int) -> str:
    """The journal folder of the server that listens at `port`."""
    return settings.journal_path or str(Path(settings.kv_config_path).parent / "journal" / str(port))


def check_names(settings: NamesrvSettings) -> None:
    """Raise ConfigError if the id of the name server, or the label of its cluster, is not valid."""
    namesrv, label = settings.journal_namesrv_id, settings.cluster_label
    if namesrv and not is_valid_id(namesrv):
        raise ConfigError(
            f"journalNamesrvId={namesrv}: up to 120 letters, digits, dots, underscores, and single hyphens"
            " between them"
        )
    if label and not is_valid_label(label):
        raise ConfigError(f"clusterLabel={label}: {LABEL_RULE}")


def journal_settings(settings: NamesrvSettings) -> JournalSettings:
    """The settings with which the server records."""
    return JournalSettings(
        server_version=__version__,
        scan_interval_ms=settings.scan_not_active_broker_interval,
        queue_bytes=settings.journal_queue_bytes,
        checkpoint_ms=settings.journal_checkpoint_hours * HOUR_MS,
        cluster_label=settings.cluster_label,
    )


def writer_settings(settings: NamesrvSettings, port: int) -> WriterSettings:
    """The settings of the writer, for the server that listens at `port`."""
    return WriterSettings(
        folder=journal_folder(settings, port),
        namesrv=settings.journal_namesrv_id or id_of_host(socket.gethostname(), port),
        is_configured=bool(settings.journal_namesrv_id),
        segments=SegmentSettings(
            fsync=Fsync(settings.journal_fsync),
            fsync_interval_ms=settings.journal_fsync_interval_ms,
            segment_bytes=settings.journal_segment_bytes,
            segment_ms=settings.journal_segment_seconds * 1000,
        ),
        limits=Limits(settings.journal_retention_bytes, settings.journal_retention_days * DAY_MS),
    )
