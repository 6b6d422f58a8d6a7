"""All counters of the server as plain values, from which `/metrics` is made.

The hot path only increments its own integers; their owners copy them here for each request.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

__all__ = [
    "DURATION_BOUNDS",
    "CertificateStats",
    "DurationStats",
    "JournalStats",
    "NameServerStats",
    "StatsSource",
]

DURATION_BOUNDS = (5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 5e-3, 0.025, 0.1, 0.5, 2.5)
"""Seconds: a cached lookup takes a few microseconds, a registration of 13 MB half a second."""


class DurationStats(Struct, frozen=True, kw_only=True):
    """The durations of the requests of one kind."""

    buckets: tuple[int, ...] = (0,) * (len(DURATION_BOUNDS) + 1)
    """Number of requests between two bounds; the last number is for requests above all bounds."""
    seconds: float = 0.0
    """Total seconds."""


class JournalStats(Struct, frozen=True, kw_only=True):
    """The journal of a name server that has one."""

    last_seq: int = 0
    durable_seq: int = 0
    """Seq of the newest record that would survive a crash of the machine."""
    dropped_changes: int = 0
    """Changes that found no room in the queue."""
    dropped_records: int = 0
    """Records that are in no file: those of dropped changes, and those that the disk lost."""
    queue_depth: int = 0
    written_bytes: int = 0
    disk_bytes: int = 0
    """Size of the folder in bytes."""
    folder: str = ""
    """Path of the folder."""
    is_writable: bool = True
    namesrv: str = ""
    """Id of this name server in its journal; empty until the folder is open."""
    boot: int = 0
    """0 until the folder is open."""


class CertificateStats(Struct, frozen=True, kw_only=True):
    """The certificate of one port that speaks TLS."""

    is_usable: bool = True
    """False: the server turns away peers that speak TLS."""
    not_after_seconds: float | None = None
    """Expiry in seconds since 1970; None for a certificate that was made on the spot."""
    reloads: int = 0
    failed_reloads: int = 0
    """Files that could not be used, at the start or later."""


class NameServerStats(Struct, frozen=True, kw_only=True):
    """A name server at one instant: totals since its start, except those with "now"."""

    version: str
    event_loop: str = ""
    front: str = "python"
    """The component that answers cached lookups: `python` or `native`."""
    start_time_seconds: float
    """Time at which the process started to serve, in seconds since 1970."""
    is_ready: bool = True
    degraded: tuple[str, ...] = ()
    """Short names of the present problems, from a fixed set."""

    # The tables now.
    active_brokers: int = 0
    broker_names: int = 0
    clusters: int = 0
    topics: int = 0
    unwritable_topics: int = 0
    """Topics that have a broker and no queue that a producer could use; counted at intervals."""
    missing_brokers: int = 0
    """Brokers that went without unregistering, and have not come back."""
    missing_topics: int = 0
    """Topics that went with them and have no route; counted at intervals."""
    missing_since_seconds: float = 0
    """Time at which the longest-missing broker went, in seconds since 1970; 0 if none is missing."""
    queue_rows: int = 0
    """Topics of each broker name, added up."""
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    """Part of the server's state -> its fingerprint (`route/fingerprint.py`); taken at intervals."""
    kv_generation: int = 0
    """Changes of the KV configuration."""

    # Connections.
    active_connections: int = 0
    accepted_connections: int = 0
    refused_connections: int = 0
    rejected_connections: int = 0
    """Closed because of their first bytes: TLS, or none, where it is not allowed, or no TLS context."""
    closed_broker_channels: Mapping[str, int] = field(default_factory=dict)
    """Reason for the end of a broker's connection (`ClosedBy`) -> number of registrations that ended with it.
    """
    closed_channels: Mapping[str, int] = field(default_factory=dict)
    """Reason (idle, overdue, protocol_error, tls_memory) -> connections that this server closed."""
    received_bytes: int = 0
    sent_bytes: int = 0
    protocol_errors: int = 0
    tls_failures: int = 0
    http_tls_failures: int = 0
    """Failed TLS handshakes at the operators' port."""
    certificates: Mapping[str, CertificateStats] = field(default_factory=dict)
    """Port, `remoting` or `http`, if it speaks TLS -> its certificate."""
    tls_bytes: int = 0
    body_bytes_in_flight: int = 0
    """Now."""

    # Requests.
    requests: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """(request code, response code) -> requests; unknown codes are -1. One-way requests count with the answer
    that they would have got."""
    refused: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """(class, access rule, mode) -> requests that the rule refused, or would have refused in the mode audit.
    """
    handler_errors: int = 0
    durations: Mapping[int, DurationStats] = field(default_factory=dict)
    """Request code -> durations until the answer; for lookups: samples of the work alone."""

    # Registrations.
    registrations: Mapping[str, int] = field(default_factory=dict)
    """Outcome (see `RegisterResult.outcome`, or failed) -> requests 103."""
    registration_body_bytes: int = 0
    from_unknown_networks: int = 0
    """Brokers that registered anew from outside of `brokerNetworks`."""
    kept_out: int = 0
    """Registrations and unregistrations that `protectBrokerNames` refused."""
    heartbeats: int = 0
    """904, 322 and unchanged 103."""
    unregistrations: int = 0
    expiries: int = 0
    channel_close_removals: int = 0
    """Registrations that ended with their connection."""
    change_queue_depth: int = 0
    """Now: changes under way or waiting."""

    # The process.
    loop_lag_max_seconds: float = 0.0
    """Longest delay of a timer since the last read."""
    dropped_log_lines: int = 0
    route_cache_bytes: int = 0
    cached_lookups: int = 0
    """Lookups that the cache answered by the bytes of the request."""
    uncached_lookups: int = 0
    """Lookups whose request had to be decoded, and whose topic has a route."""
    front_lookups: int = 0
    """Cached lookups that the native fast path answered."""
    front_connections: int = 0
    """Now: connections that are handed off to the native fast path."""
    front_loans: int = 0
    """Number of hand-offs to it."""
    front_failures: int = 0
    """Connections lost by a failure of it."""
    journal: JournalStats | None = None
    """None without a journal."""

    @property
    def lookups(self) -> Mapping[str, object]:
        """The answering component, hits and misses, and the hand-offs to the native fast path."""
        return {
            "front": self.front,
            "cached": self.cached_lookups,
            "uncached": self.uncached_lookups,
            "front_lookups": self.front_lookups,
            "front_connections": self.front_connections,
            "front_loans": self.front_loans,
            "front_failures": self.front_failures,
        }


class StatsSource(Protocol):
    """A source of the present numbers."""

    def __call__(self) -> NameServerStats:
        """Return the present numbers; called on the event loop."""
        ...
