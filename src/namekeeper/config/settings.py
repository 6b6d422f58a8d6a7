"""Every property of the name server, its default and its meaning, in one frozen value.

The first two groups are Java's, with the names and defaults of 5.5.0 (protocol.md 5.2, 5.3).
Those marked inert have no counterpart in one event loop: they are accepted, shown and kept.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from msgspec import Struct

from namekeeper.config.property import Property, PropertyGroup, Spec, specs_of

__all__ = ["ALIASES", "MIB", "SPECS", "NamesrvSettings"]

MIB = 1024 * 1024

_LONG_MAX = 2**63 - 1
_NAMESRV = PropertyGroup.NAMESRV
_NETTY = PropertyGroup.NETTY
_TLS = PropertyGroup.TLS
_OURS = PropertyGroup.OURS


class NamesrvSettings(Struct, frozen=True, kw_only=True):
    """The settings of a name server; `settings_from` makes them from properties."""

    rocketmq_home: Annotated[
        str | None, Property("Installation folder; nothing is read from it", _NAMESRV, path=True)
    ] = None
    kv_config_path: Annotated[
        str, Property("File of the KV configuration", _NAMESRV, path=True, nonempty=True)
    ] = "~/namesrv/kvConfig.json"
    config_store_path: Annotated[
        str,
        Property(
            "File that request 318 writes; the file of `-c` if one is given",
            _NAMESRV,
            path=True,
            nonempty=True,
        ),
    ] = "~/namesrv/namesrv.properties"
    product_env_name: Annotated[
        str, Property("Unit that clusterTest asks the address server for", _NAMESRV)
    ] = "center"
    cluster_test: Annotated[
        bool,
        Property(
            "Ask another environment for the route of a topic that nobody here has (request 105)", _NAMESRV
        ),
    ] = False
    order_message_enable: Annotated[
        bool, Property("Attach the order configuration of a topic to its route", _NAMESRV, live=True)
    ] = False
    config_black_list: Annotated[
        str,
        Property(
            "More names that request 318 may not change, separated by `;`; read at start",
            _NAMESRV,
            remote=False,
        ),
    ] = "configBlackList;configStorePath;kvConfigPath"
    return_order_topic_config_to_broker: Annotated[
        bool, Property("Answer a registration with all order configurations", _NAMESRV, live=True)
    ] = True
    client_request_thread_pool_nums: Annotated[
        int, Property("Threads for request 105", _NAMESRV, low=1, inert=True)
    ] = 8
    default_thread_pool_nums: Annotated[
        int, Property("Threads for other requests", _NAMESRV, low=1, inert=True)
    ] = 16
    client_request_thread_pool_queue_capacity: Annotated[
        int, Property("Waiting requests 105", _NAMESRV, low=1, inert=True)
    ] = 50_000
    default_thread_pool_queue_capacity: Annotated[
        int, Property("Other waiting requests", _NAMESRV, low=1, inert=True)
    ] = 10_000
    scan_not_active_broker_interval: Annotated[
        int,
        Property(
            "Time between two searches for expired brokers", _NAMESRV, "ms", low=1, high=2**53, long=True
        ),
    ] = 5_000
    un_register_broker_queue_capacity: Annotated[
        int, Property("Waiting removals of brokers", _NAMESRV, low=1, inert=True)
    ] = 3_000
    support_acting_master: Annotated[
        bool, Property("Show a slave as master in routes while the master is away", _NAMESRV, live=True)
    ] = False
    enable_all_topic_list: Annotated[bool, Property("Answer request 206", _NAMESRV, live=True)] = True
    enable_topic_list: Annotated[
        bool, Property("Answer requests 224 and 311 to 313", _NAMESRV, live=True)
    ] = True
    notify_min_broker_id_changed: Annotated[
        bool,
        Property("Tell a group's brokers when its smallest broker id changes (905)", _NAMESRV, live=True),
    ] = False
    enable_controller_in_namesrv: Annotated[
        bool,
        Property(
            "Run the controller in this process; not offered: `true` is refused", _NAMESRV, remote=False
        ),
    ] = False
    need_wait_for_service: Annotated[
        bool, Property("Refuse request 105 for a while after the start", _NAMESRV, live=True)
    ] = False
    wait_seconds_for_service: Annotated[
        int, Property("How long needWaitForService refuses", _NAMESRV, "s", low=0, live=True)
    ] = 45
    delete_topic_with_broker_registration: Annotated[
        bool, Property("Remove topics that a broker's registration no longer names", _NAMESRV, live=True)
    ] = False

    listen_port: Annotated[
        int, Property("Port for brokers and clients; 0 picks a free one", _NETTY, low=0, high=65_535)
    ] = 9876
    bind_address: Annotated[
        str, Property("Address to listen at: host name, IPv4 or IPv6", _NETTY, nonempty=True)
    ] = "0.0.0.0"  # noqa: S104 -- Java's default: brokers and clients are on other machines
    server_worker_threads: Annotated[int, Property("Codec threads", _NETTY, low=0, inert=True)] = 8
    server_callback_executor_threads: Annotated[
        int, Property("Callback threads", _NETTY, low=0, inert=True)
    ] = 0
    server_selector_threads: Annotated[int, Property("I/O threads", _NETTY, low=0, inert=True)] = 3
    server_oneway_semaphore_value: Annotated[
        int, Property("One-way requests of the server itself in flight", _NETTY, low=0, inert=True)
    ] = 256
    server_async_semaphore_value: Annotated[
        int, Property("Requests of the server itself in flight", _NETTY, low=0, inert=True)
    ] = 64
    server_channel_max_idle_time_seconds: Annotated[
        int, Property("A connection without traffic for so long is closed; 0 never", _NETTY, "s", low=0)
    ] = 120
    server_socket_snd_buf_size: Annotated[
        int,
        Property(
            "Size of each socket's send buffer; 0 leaves it to the system", _NETTY, "bytes", low=0,
            aliases=("com.rocketmq.remoting.socket.sndbuf.size",),
        ),
    ] = 0  # fmt: skip
    server_socket_rcv_buf_size: Annotated[
        int,
        Property(
            "Size of each socket's receive buffer; 0 leaves it to the system", _NETTY, "bytes", low=0,
            aliases=("com.rocketmq.remoting.socket.rcvbuf.size",),
        ),
    ] = 0  # fmt: skip
    write_buffer_high_water_mark: Annotated[
        int,
        Property(
            "Unsent answers at which reading from a connection pauses, beyond the socket's buffer; counts"
            " only if writeBufferLowWaterMark is set too, else 256 KiB",
            _NETTY,
            "bytes",
            low=0,
        ),
    ] = 0
    write_buffer_low_water_mark: Annotated[
        int,
        Property(
            "Unsent answers at which reading goes on; counts only if writeBufferHighWaterMark is set too,"
            " else 64 KiB",
            _NETTY,
            "bytes",
            low=0,
        ),
    ] = 0
    server_socket_backlog: Annotated[int, Property("Connections waiting to be accepted", _NETTY, low=0)] = (
        1024
    )
    server_netty_worker_group_enable: Annotated[
        bool, Property("Separate worker threads", _NETTY, inert=True)
    ] = True
    server_pooled_byte_buf_allocator_enable: Annotated[
        bool, Property("Pooled buffers", _NETTY, inert=True)
    ] = True
    enable_shutdown_gracefully: Annotated[
        bool, Property("Tell clients to go away (1500) and drain before closing", _NETTY, live=True)
    ] = False
    shutdown_wait_time_seconds: Annotated[
        int, Property("How long draining may take", _NETTY, "s", low=0, live=True)
    ] = 30
    use_epoll_native_selector: Annotated[bool, Property("Netty's own epoll", _NETTY, inert=True)] = False

    tls_server_mode: Annotated[
        str,
        Property(
            "What is accepted on the port: `permissive` takes both", _TLS, name="tls.server.mode",
            choices=("disabled", "permissive", "enforcing"), remote=False,
        ),
    ] = "permissive"  # fmt: skip
    tls_enable: Annotated[
        bool, Property("Use TLS in our own requests", _TLS, name="tls.enable", remote=False)
    ] = False
    tls_config_file: Annotated[
        str,
        Property(
            "File whose tls.* keys override the others, if it is readable",
            _TLS,
            name="tls.config.file",
            path=True,
        ),
    ] = "/etc/rocketmq/tls.properties"
    tls_test_mode_enable: Annotated[
        bool,
        Property(
            "A self-signed certificate, made when TLS is first used; our own requests trust everything", _TLS,
            name="tls.test.mode.enable", remote=False,
        ),
    ] = True  # fmt: skip
    tls_server_cert_path: Annotated[
        str, Property("Certificate chain, PEM", _TLS, name="tls.server.certPath", path=True)
    ] = ""
    tls_server_key_path: Annotated[str, Property("Key, PEM", _TLS, name="tls.server.keyPath", path=True)] = ""
    tls_server_key_password: Annotated[
        str, Property("Password of the key", _TLS, name="tls.server.keyPassword", remote=False, secret=True)
    ] = ""
    tls_server_need_client_auth: Annotated[
        str,
        Property(
            "Whether clients show a certificate", _TLS, name="tls.server.need.client.auth",
            choices=("none", "optional", "require"), remote=False,
        ),
    ] = "none"  # fmt: skip
    tls_server_auth_client: Annotated[
        bool, Property("Verify the client's chain", _TLS, name="tls.server.authClient", remote=False)
    ] = False
    tls_server_trust_cert_path: Annotated[
        str, Property("Authorities for clients, PEM", _TLS, name="tls.server.trustCertPath", path=True)
    ] = ""
    tls_client_cert_path: Annotated[
        str, Property("Our own client certificate chain, PEM", _TLS, name="tls.client.certPath", path=True)
    ] = ""
    tls_client_key_path: Annotated[
        str, Property("Its key, PEM", _TLS, name="tls.client.keyPath", path=True)
    ] = ""
    tls_client_key_password: Annotated[
        str, Property("Password of that key", _TLS, name="tls.client.keyPassword", remote=False, secret=True)
    ] = ""
    tls_client_auth_server: Annotated[
        bool,
        Property(
            "Verify the server's chain in our own requests", _TLS, name="tls.client.authServer", remote=False
        ),
    ] = False
    tls_client_trust_cert_path: Annotated[
        str, Property("Authorities for servers, PEM", _TLS, name="tls.client.trustCertPath", path=True)
    ] = ""
    tls_ciphers: Annotated[
        str,
        Property(
            "Ciphers allowed, separated by commas; empty: the library's",
            _TLS,
            name="tls.ciphers",
            remote=False,
        ),
    ] = ""
    tls_protocols: Annotated[
        str,
        Property(
            "Versions allowed, separated by commas; empty: the library's",
            _TLS,
            name="tls.protocols",
            remote=False,
        ),
    ] = ""

    allow_config_update: Annotated[
        bool, Property("Let request 318 change properties; off, as anybody may send it", _OURS, remote=False)
    ] = False
    access_file: Annotated[
        str,
        Property(
            "File of the rules who may do what, read again when it changes; empty: everybody may do all",
            _OURS,
            path=True,
        ),
    ] = ""
    front: Annotated[
        str,
        Property("What answers known look-ups: Python or `namekeeper-front` (native); auto: what there is",
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
    broker_names_limit: Annotated[
        int,
        Property(
            "Broker names that may be registered, each counted in every cluster that has it; 0: no limit",
            _OURS, low=0, remote=False,
        ),
    ] = 20_000  # fmt: skip
    cluster_names_limit: Annotated[
        int, Property("Clusters that may have brokers; 0: no limit", _OURS, low=0, remote=False)
    ] = 1_000
    broker_ids_limit: Annotated[
        int, Property("Brokers that one broker name may have; 0: no limit", _OURS, low=0, remote=False)
    ] = 1_000
    brokers_limit: Annotated[
        int, Property("Brokers that may be registered in all; 0: no limit", _OURS, low=0, remote=False)
    ] = 100_000
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
    expiry_guard_percent: Annotated[
        int,
        Property(
            "If more of the brokers would expire in one search, and more than one, none does; 0: no guard",
            _OURS, "%", low=0, high=100, remote=False,
        ),
    ] = 0  # fmt: skip
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
        Property("Memory for look-ups known by their bytes; 0: none", _OURS, "bytes", low=0, remote=False),
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
            "Further names by which browsers may open the page there, `name;name`: of an ingress, a service",
            _OURS, remote=False,
        ),
    ] = ""  # fmt: skip
    http_watchers_limit: Annotated[
        int,
        Property("Who may watch routes at once; more get 503, 0 is off", _OURS, low=0, remote=False),
    ] = 2_000
    remember_lookups: Annotated[
        bool,
        Property(
            "Remember what each connection looked up, for `namekeeper who-knows`; look-ups are then served"
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
            "Last part of the path that clusterTest asks there: `/rocketmq/nsaddr-<productEnvName>`",
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
        Property("Least level that is logged", _OURS, choices=("DEBUG", "INFO", "WARN", "ERROR"), live=True),
    ] = "INFO"


SPECS: Mapping[str, Spec] = MappingProxyType(specs_of(NamesrvSettings))
"""Every property by its name in files, in the order above."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: spec.name for spec in SPECS.values() for alias in spec.facts.aliases}
)
"""Other names under which a property is read."""
