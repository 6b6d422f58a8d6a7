"""Settings of a client: plain values that can be pickled and sent to where the client will run."""

import os
from collections.abc import Mapping
from typing import Self

from msgspec import field, structs

from namekeeper.config.spelled_settings import SpelledSettings
from namekeeper.errors import ConfigError
from namekeeper.nsaddr import address_server_url, refuse_url
from namekeeper.remoting.address import parse_addresses
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.credentials import find_credentials
from namekeeper.remoting.page_address import parse_page_addresses
from namekeeper.remoting.signing import signing_hook
from namekeeper.remoting.tls_client import ClientTls
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["ClientConfig", "make_remoting_client", "name_servers_of"]

NAMESRV_ADDR = "NAMESRV_ADDR"
"""The environment variable that RocketMQ's own clients read."""


class _Addressed(SpelledSettings, frozen=True):
    """The setting that may be given as a positional argument."""

    namesrv_addr: str = ""
    """`host:port;host:port`; without it NAMESRV_ADDR counts, then the address server."""


class ClientConfig(_Addressed, frozen=True, kw_only=True):
    """Settings of a client; the defaults are Java's.

    Attributes:
        namesrv_addr: `host:port;host:port`; without it NAMESRV_ADDR counts, then the address server.
        namesrv_domain: Address server: host, host:port, or the URL of the list. Java's default domain is
            not assumed.
        namesrv_domain_subgroup: Last part of the address server's URL, as in Java.
        unit_name: Unit, which is added to that part after a `-`; None: none.
        watch_addr: `host:port;https://host:port` of operators' HTTP ports: when a route changes there, it
            is looked up at once. For https, the files of `tls` count.
        watch_token: Sent to them, where access rules ask for one.
        poll_name_server_interval_ms: Interval at which the route of each topic is looked up.
        heartbeat_broker_interval_ms: Interval at which brokers that are in no route any more are
            forgotten.
        mq_client_api_timeout_ms: Time limit of one lookup, for any number of name servers.
        connect_timeout_ms: Time limit of one connection.
        route_cache_path: A file that keeps the last known routes: with it a client can start while every
            name server is down.
        access_key: Sign requests; empty: don't.
        secret_key: The key that signs; goes together with `access_key`.
        security_token: Sent with signed requests; None: none.
        tls: TLS to name servers; `TlsSettings(enable=True)` speaks TLS and trusts any server.
    """

    namesrv_domain: str = ""
    namesrv_domain_subgroup: str = "nsaddr"
    unit_name: str | None = None
    watch_addr: str = ""
    watch_token: str = ""
    poll_name_server_interval_ms: int = 30_000
    heartbeat_broker_interval_ms: int = 30_000
    mq_client_api_timeout_ms: int = 3_000
    connect_timeout_ms: int = 3_000
    route_cache_path: str = ""
    access_key: str = ""
    secret_key: str = ""
    security_token: str | None = None
    tls: TlsSettings = field(default_factory=TlsSettings)

    def __post_init__(self) -> None:
        """Raise ConfigError, with the name of the setting, for a value that can't work."""
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                raise ConfigError(
                    f"{name} must be text, not {getattr(self, name)!r}; several name servers are one text:"
                    " 'host:port;host:port'"
                )
        refuse_url("namesrv_addr", self.namesrv_addr, "namesrv_domain")
        for name in _TIMES:
            value = getattr(self, name)
            if not isinstance(value, int | float) or value <= 0:
                raise ConfigError(f"{name} must be more than 0, in milliseconds, not {value!r}")
        try:
            parse_page_addresses(self.watch_addr or "none:1")
        except ConfigError as error:
            raise ConfigError(f"watch_addr: {error}") from None
        if bool(self.access_key) != bool(self.secret_key):
            raise ConfigError("access_key and secret_key go together: give both, or none")

    @classmethod
    def of(cls, config: "ClientConfig | str | None") -> "ClientConfig":
        """Return settings; a text is the list of name servers, None leaves all to the environment.

        Raises:
            ConfigError: it is something else.
        """
        given: object = config or cls()
        if isinstance(given, str):
            return cls(given)
        if not isinstance(given, cls):
            raise ConfigError(f"a client takes a ClientConfig, or 'host:port;host:port', not {given!r}")
        return given

    def with_keys_from(self, environ: Mapping[str, str]) -> Self:
        """The same settings, with the keys that commands would take from an environment, if any.

        Raises:
            ConfigError: there is no secret key, or the file with the keys can't be read.
        """
        keys = find_credentials(environ)
        return self if keys is None else structs.replace(self, **structs.asdict(keys))

    def __repr__(self) -> str:
        keys = ", signed" if self.access_key else ""
        return (
            f"ClientConfig(namesrv_addr={self.namesrv_addr!r}, namesrv_domain={self.namesrv_domain!r}{keys})"
        )


_TEXTS = (
    "namesrv_addr",
    "namesrv_domain",
    "namesrv_domain_subgroup",
    "watch_addr",
    "watch_token",
    "route_cache_path",
)
_TIMES = (
    "poll_name_server_interval_ms",
    "heartbeat_broker_interval_ms",
    "mq_client_api_timeout_ms",
    "connect_timeout_ms",
)


def name_servers_of(
    config: ClientConfig, environ: Mapping[str, str] | None = None
) -> tuple[list[str], str | None]:
    """Return the given addresses, or none and the URL of the address server.

    Raises:
        ConfigError: neither is given, or the list is malformed.
    """
    for text, where in (
        (config.namesrv_addr, "namesrv_addr"),
        ((os.environ if environ is None else environ).get(NAMESRV_ADDR, ""), NAMESRV_ADDR),
    ):
        if text.strip():
            try:
                return [str(addr) for addr in parse_addresses(text)], None
            except ConfigError as error:
                raise ConfigError(f"{where}: {error}") from None
    if not config.namesrv_domain:
        raise ConfigError(
            "no name server: give namesrv_addr='host:port;host:port', or set NAMESRV_ADDR, "
            "or give the address server with namesrv_domain"
        )
    return [], address_server_url(
        config.namesrv_domain, subgroup=config.namesrv_domain_subgroup, unit_name=config.unit_name
    )


def make_remoting_client(config: ClientConfig) -> RemotingClient:
    """Make the client that sends requests, with TLS and signature as configured; reads certificate files.

    Raises:
        ConfigError: the certificates can't be used.
    """
    hook = None
    if config.access_key:
        hook = signing_hook(config.access_key, config.secret_key, security_token=config.security_token)
    return RemotingClient(
        tls=ClientTls(lambda: config.tls) if config.tls.enable else None,
        rpc_hook=hook,
        connect_timeout_ms=config.connect_timeout_ms,
    )
