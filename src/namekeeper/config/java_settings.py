"""Java's properties of a name server, of its network and TLS, with names and defaults of 5.5.0.

Sources: protocol.md 5.2, 5.3 and 5.8. Those marked inert have no counterpart in one event loop: they are
accepted, shown and kept.
"""

from typing import Annotated

from msgspec import Struct

from namekeeper.config.property import Property, PropertyGroup

__all__ = ["JavaSettings"]

_NAMESRV = PropertyGroup.NAMESRV
_NETTY = PropertyGroup.NETTY
_TLS = PropertyGroup.TLS


class JavaSettings(Struct, frozen=True, kw_only=True):
    """The properties that a Java name server has, too."""

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
            "Size of each socket's receive buffer; 0 leaves it to the system, and is 32 KiB with TLS", _NETTY,
            "bytes", low=0,
            aliases=("com.rocketmq.remoting.socket.rcvbuf.size",),
        ),
    ] = 0  # fmt: skip
    write_buffer_high_water_mark: Annotated[
        int,
        Property(
            "Unsent answers at which reading from a connection pauses, beyond the socket's buffer; counts"
            " only if writeBufferLowWaterMark is set too, else 256 KiB. Connections beyond 16 MiB of such"
            " answers pause once the socket's buffer is full",
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
            "Ciphers allowed, by names of the JDK or OpenSSL, separated by commas; empty: the library's",
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
