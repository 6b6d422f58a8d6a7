"""How a journal is kept: plain values, quick to import."""

from enum import StrEnum

from msgspec import Struct

__all__ = [
    "DAY_MS",
    "Fsync",
    "JournalSettings",
    "Limits",
    "SegmentSettings",
    "WriterSettings",
]

DAY_MS = 24 * 3_600_000


class Fsync(StrEnum):
    """When written data is synced to the disk."""

    ALWAYS = "always"
    INTERVAL = "interval"
    NEVER = "never"


class SegmentSettings(Struct, frozen=True, kw_only=True):
    """When to sync and when to seal a segment."""

    fsync: Fsync = Fsync.INTERVAL
    fsync_interval_ms: int = 200
    segment_bytes: int = 64 << 20
    segment_ms: int = 300_000


class Limits(Struct, frozen=True):
    """Limits of what a folder may contain."""

    max_bytes: int = 4 << 30
    max_age_ms: int = 30 * DAY_MS


class WriterSettings(Struct, frozen=True, kw_only=True):
    """Where and how a writer writes."""

    folder: str
    namesrv: str
    """Id for a new folder."""
    is_configured: bool = False
    """Whether that id comes from the configuration."""
    segments: SegmentSettings = SegmentSettings()
    limits: Limits = Limits()


class JournalSettings(Struct, frozen=True, kw_only=True):
    """How a server records."""

    server_version: str
    scan_interval_ms: int
    queue_bytes: int = 256 << 20
    checkpoint_ms: int = 6 * 3_600_000
    observed_addr: str = ""
    """Address of the name server that an observer asks; empty: the server records itself."""
    restart: str = ""
    """Whether the observed name server restarted since the boot before: see `server_started`."""
    cluster_label: str = ""
    """Label of the cluster that the name server belongs to; empty: none."""
