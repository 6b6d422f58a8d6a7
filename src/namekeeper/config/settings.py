"""Every property of the name server, its default and its meaning: Java's, and here our own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from namekeeper.config.java_settings import JavaSettings
from namekeeper.config.property import Property, PropertyGroup, Spec, specs_of

__all__ = ["ALIASES", "MIB", "SPECS", "NamesrvSettings"]

MIB = 1024 * 1024

_LONG_MAX = 2**63 - 1
_OURS = PropertyGroup.OURS


class NamesrvSettings(JavaSettings, frozen=True, kw_only=True):
    """The settings of a name server; `settings_from` makes them from properties."""

    allow_config_update: Annotated[
        bool, Property("Let request 318 change properties; off, as anybody may send it", _OURS, remote=False)
    ] = False
    access_file: Annotated[
        str,
        Property(
            "File of the access rules, read again when it changes; empty: everybody may do everything",
            _OURS,
            path=True,
        ),
    ] = ""
    front: Annotated[
        str,
        Property("What answers cached lookups; auto: `native` (namekeeper-front) if it is installed",
                 _OURS, choices=("auto", "python", "native"), remote=False),
    ] = "auto"  # fmt: skip
    front_threads: Annotated[
        int, Property("Threads of the front; 0: 1 to 4, by the cores", _OURS, low=0, high=64, remote=False)
    ] = 0
    serialize_type: Annotated[
        str,
        Property(
            "Form of headers that this server writes", _OURS, choices=("JSON", "ROCKETMQ"), remote=False,
            aliases=("rocketmq.serialize.type",),
        ),
    ] = "JSON"  # fmt: skip
    remoting_frame_max_length: Annotated[
        int,
        Property(
            "Longest frame accepted; a longer one closes its connection", _OURS, "bytes", low=1024,
            aliases=("com.rocketmq.remoting.frameMaxLength",), remote=False,
        ),
    ] = 16 * MIB  # fmt: skip
    proxy_protocol_trusted_networks: Annotated[
        str,
        Property(
            "Networks whose PROXY header counts as the peer's address, e.g. `10.0.0.0/8,fd00::/8`",
            _OURS,
            remote=False,
        ),
    ] = ""
    max_connections: Annotated[
        int,
        Property(
            "Connections at once, and never more than file descriptors allow; more are closed when they come",
            _OURS,
            low=1,
            remote=False,
        ),
    ] = 65_536
    body_bytes_in_flight_limit: Annotated[
        int,
        Property(
            "Bytes of requests above 64 KiB that arrive or are handled, over all connections; more must wait",
            _OURS, "bytes", remote=False, low=1024, high=_LONG_MAX, long=True,
        ),
    ] = 256 * MIB  # fmt: skip
    tls_bytes_limit: Annotated[
        int,
        Property(
            "Memory of TLS connections: 64 KiB for each, and what bursts made its buffers keep; beyond it,"
            " the host with the most loses one",
            _OURS, "bytes", remote=False, low=MIB, high=_LONG_MAX, long=True,
        ),
    ] = 384 * MIB  # fmt: skip
    broker_names_limit: Annotated[
        int,
        Property(
            "Broker names that may be registered, each counted in every cluster that has it; 0: no limit",
            _OURS, low=0, remote=False,
        ),
    ] = 5_000  # fmt: skip
    cluster_names_limit: Annotated[
        int, Property("Clusters that may have brokers; 0: no limit", _OURS, low=0, remote=False)
    ] = 1_000
    broker_ids_limit: Annotated[
        int, Property("Brokers that one broker name may have; 0: no limit", _OURS, low=0, remote=False)
    ] = 1_000
    brokers_limit: Annotated[
        int, Property("Brokers that may be registered in all; 0: no limit", _OURS, low=0, remote=False)
    ] = 100_000
    topic_rows_limit: Annotated[
        int,
        Property(
            "Topics that may be registered, each counted for every broker name that has it; filter servers"
            " and logical queues of static topics count, too; 0: no limit",
            _OURS, low=0, remote=False,
        ),
    ] = 20_000_000  # fmt: skip
    name_characters_limit: Annotated[
        int,
        Property(
            "Length of a name or an address that a peer gives, in a header or in a registration's body",
            _OURS, "characters", low=64, remote=False,
        ),
    ] = 512  # fmt: skip
    protect_broker_names: Annotated[
        bool,
        Property(
            "While a broker is live, only the host that registered it may register its name and id or its"
            " address, or unregister it",
            _OURS,
            remote=False,
        ),
    ] = False
    broker_networks: Annotated[
        str,
        Property(
            "Networks that brokers are in, e.g. `10.1.0.0/16`; one that registers from elsewhere, or an"
            " address elsewhere, is logged and counted. Empty: any",
            _OURS, remote=False,
        ),
    ] = ""  # fmt: skip
    notify_networks: Annotated[
        str,
        Property(
            "Networks of brokers that `notifyMinBrokerIdChanged` may notify, e.g. `10.1.0.0/16`; a broker"
            " elsewhere, or with a host name, gets no 905. Empty: any",
            _OURS, remote=False,
        ),
    ] = ""  # fmt: skip
    expiry_guard_percent: Annotated[
        int,
        Property(
            "If one search finds more of the brokers silent, and more than one, none expires; 0: no guard",
            _OURS, "%", low=0, high=100, remote=False,
        ),
    ] = 0  # fmt: skip
    missing_within_seconds: Annotated[
        int,
        Property(
            "How long a broker counts as missing after it went without unregistering; 0: not at all",
            _OURS, "s", low=0, high=31_536_000, remote=False,
        ),
    ] = 86_400  # fmt: skip
    kv_entries_limit: Annotated[
        int,
        Property(
            "Entries and namespaces of the KV configuration that peers may make; 0: no limit",
            _OURS, low=0, remote=False,
        ),
    ] = 100_000  # fmt: skip
    route_cache_bytes: Annotated[
        int,
        Property("Memory for encoded routes", _OURS, "bytes", low=0, high=_LONG_MAX, long=True, remote=False),
    ] = 32 * MIB
    lookup_cache_bytes: Annotated[
        int,
        Property(
            "Memory for cached lookups, and once more for those of the native front; 0: none",
            _OURS,
            "bytes",
            low=0,
            remote=False,
        ),
    ] = 16 * MIB
    http_bind_address: Annotated[
        str, Property("Address of the HTTP pages for operators", _OURS, nonempty=True, remote=False)
    ] = "127.0.0.1"
    http_port: Annotated[
        int, Property("Their port; 0 picks a free one, -1 is off", _OURS, low=-1, high=65_535, remote=False)
    ] = 9886
    http_host_names: Annotated[
        str,
        Property(
            "Further names by which the pages are asked for, `name;name`: of an ingress, a service, a scrape",
            _OURS, remote=False,
        ),
    ] = ""  # fmt: skip
    console_history_bytes: Annotated[
        int,
        Property(
            "Memory of the history that the page there shows, beside the rows of the present; the oldest"
            " changes are dropped when it is full",
            _OURS, "bytes", low=MIB, remote=False,
        ),
    ] = 160 * MIB  # fmt: skip
    http_tls_mode: Annotated[
        str,
        Property(
            "Whether the pages speak TLS, with the certificate of `tls.server.certPath`: `enforcing` is"
            " https only", _OURS, choices=("disabled", "enforcing"), remote=False,
        ),
    ] = "disabled"  # fmt: skip
    http_tls_need_client_auth: Annotated[
        str,
        Property(
            "Whether the client of a page shows a certificate, of the authorities in"
            " `tls.server.trustCertPath`; access rules can name it",
            _OURS, choices=("none", "optional", "require"), remote=False,
        ),
    ] = "none"  # fmt: skip
    http_watchers_limit: Annotated[
        int,
        Property("How many may watch routes at once; more get 503; 0 is off", _OURS, low=0, remote=False),
    ] = 2_000
    remember_lookups: Annotated[
        bool,
        Property(
            "Remember what each connection looked up, for `namekeeper who-knows`; lookups are then served"
            " without the cache and the native front", _OURS, remote=False,
        ),
    ] = False  # fmt: skip
    address_server_list: Annotated[
        str,
        Property(
            "What `/rocketmq/nsaddr` answers, `host:port;host:port`; empty: this server", _OURS, remote=False
        ),
    ] = ""
    namesrv_domain: Annotated[
        str,
        Property(
            "Address server that clusterTest asks, `host` or `host:port`; the port is 8080 if none is given",
            _OURS, name="rocketmq.namesrv.domain", nonempty=True, remote=False,
        ),
    ] = "jmenv.tbsite.net"  # fmt: skip
    namesrv_domain_subgroup: Annotated[
        str,
        Property(
            "Last part of the path of the address list: of the own one, and of the one clusterTest asks for",
            _OURS, name="rocketmq.namesrv.domain.subgroup", nonempty=True, remote=False,
        ),
    ] = "nsaddr"  # fmt: skip
    journal_enable: Annotated[
        bool, Property("Keep a journal of every change on disk", _OURS, remote=False)
    ] = True
    journal_path: Annotated[
        str, Property("Folder of the journal; empty: `journal/<port>` beside the KV file", _OURS, path=True)
    ] = ""
    restore_routes: Annotated[
        bool, Property("At the start, serve the routes that the journal ends with", _OURS, remote=False)
    ] = True
    journal_namesrv_id: Annotated[
        str,
        Property(
            "Id of this name server in its journal, for a new folder; empty: `<host>_<port>`",
            _OURS,
            remote=False,
        ),
    ] = ""
    cluster_label: Annotated[
        str,
        Property(
            "Label of the cluster of name servers, in the journal: only those with one label are compared;"
            " empty: those that share brokers",
            _OURS, remote=False,
        ),
    ] = ""  # fmt: skip
    journal_fsync: Annotated[
        str,
        Property(
            "When the journal is forced to the disk: after each write, at intervals, or when a segment ends",
            _OURS, choices=("always", "interval", "never"), remote=False,
        ),
    ] = "interval"  # fmt: skip
    journal_fsync_interval_ms: Annotated[
        int, Property("The interval of `interval`", _OURS, "ms", low=1, high=60_000, remote=False)
    ] = 200
    journal_segment_bytes: Annotated[
        int,
        Property(
            "Size at which a segment of the journal is sealed, before compression",
            _OURS, "bytes", low=1024, high=4096 * MIB, long=True, remote=False,
        ),
    ] = 64 * MIB  # fmt: skip
    journal_segment_seconds: Annotated[
        int,
        Property("Age at which a segment is sealed; Spark reads those", _OURS, "s", low=1, remote=False),
    ] = 300
    journal_retention_bytes: Annotated[
        int,
        Property(
            "Size that the journal's folder may have; the oldest segments go first",
            _OURS, "bytes", low=MIB, high=_LONG_MAX, long=True, remote=False,
        ),
    ] = 4096 * MIB  # fmt: skip
    journal_retention_days: Annotated[
        int, Property("Days that a segment of the journal is kept", _OURS, low=1, high=36_500, remote=False)
    ] = 30
    journal_checkpoint_hours: Annotated[
        int, Property("Hours between two checkpoints in the journal", _OURS, low=1, high=168, remote=False)
    ] = 6
    journal_queue_bytes: Annotated[
        int,
        Property(
            "Memory for changes that wait for the journal's disk; more are dropped, and counted",
            _OURS, "bytes", low=MIB, high=_LONG_MAX, long=True, remote=False,
        ),
    ] = 256 * MIB  # fmt: skip
    log_root: Annotated[str, Property("Folder of the log files", _OURS, path=True, nonempty=True)] = (
        "~/logs/rocketmqlogs"
    )
    log_level: Annotated[
        str,
        Property("Lowest level that is logged", _OURS, choices=("DEBUG", "INFO", "WARN", "ERROR"), live=True),
    ] = "INFO"


SPECS: Mapping[str, Spec] = MappingProxyType(specs_of(NamesrvSettings))
"""Every property by its name in files, in the order above."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: spec.name for spec in SPECS.values() for alias in spec.facts.aliases}
)
"""Other names under which a property is read."""
