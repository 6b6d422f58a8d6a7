"""TLS settings by their Java names (protocol.md 5.8)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from namekeeper.errors import ConfigError

__all__ = ["ClientAuth", "TlsMode", "TlsSettings", "check_server_settings"]

_Choice = TypeVar("_Choice", bound=StrEnum)


class TlsMode(StrEnum):
    """The server's treatment of the two kinds of connections."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(StrEnum):
    """Whether the server wants a certificate of the client."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


class TlsSettings(Struct, frozen=True, kw_only=True):
    """All TLS settings, for servers and clients."""

    mode: TlsMode = TlsMode.PERMISSIVE
    enable: bool = False
    """Clients: speak TLS."""
    test_mode: bool = True
    """Server: a certificate made on the spot, no client certificates. Client: any server is trusted."""
    server_cert_path: str = ""
    """PEM chain, own certificate first."""
    server_key_path: str = ""
    """PEM, PKCS#8."""
    server_key_password: str = ""
    need_client_auth: ClientAuth = ClientAuth.NONE
    auth_client: bool = False
    """Verify the chain of client certificates against `server_trust_cert_path`."""
    server_trust_cert_path: str = ""
    """PEM of the authorities that issue clients' certificates."""
    client_cert_path: str = ""
    client_key_path: str = ""
    client_key_password: str = ""
    client_trust_cert_path: str = ""
    auth_server: bool = False
    """Client: verify the chain of the server's certificate; its host name never."""
    ciphers: tuple[str, ...] = ()
    """Names of the JDK or of OpenSSL; empty: OpenSSL's choice."""
    protocols: tuple[str, ...] = ()
    """`TLSv1.2`, `TLSv1.3`; empty: OpenSSL's choice."""

    @classmethod
    def from_properties(
        cls, system: Mapping[str, str], file: Mapping[str, str] | None = None
    ) -> "TlsSettings":
        """Read Java's names; `file`, the content of `tls.config.file`, overrides all but mode and enable.

        Raises:
            ConfigError: a list holds separators and no name.
        """
        both = {**system, **(file or {})}

        def text(name: str) -> str:
            return both.get(name, "").strip()

        def flag(name: str, *, default: bool = False) -> bool:
            return text(name).lower() == "true" if name in both else default

        return cls(
            mode=_member(TlsMode, system.get("tls.server.mode", ""), TlsMode.PERMISSIVE),
            enable=system.get("tls.enable", "").strip().lower() == "true",
            test_mode=flag("tls.test.mode.enable", default=True),
            server_cert_path=text("tls.server.certPath"),
            server_key_path=text("tls.server.keyPath"),
            server_key_password=both.get("tls.server.keyPassword", ""),
            need_client_auth=_member(
                ClientAuth, text("tls.server.need.client.auth").lower(), ClientAuth.NONE
            ),
            auth_client=flag("tls.server.authClient"),
            server_trust_cert_path=text("tls.server.trustCertPath"),
            client_cert_path=text("tls.client.certPath"),
            client_key_path=text("tls.client.keyPath"),
            client_key_password=both.get("tls.client.keyPassword", ""),
            client_trust_cert_path=text("tls.client.trustCertPath"),
            auth_server=flag("tls.client.authServer"),
            ciphers=_items("tls.ciphers", text("tls.ciphers")),
            protocols=_items("tls.protocols", text("tls.protocols")),
        )


def check_server_settings(settings: TlsSettings) -> None:
    """Raise ConfigError for settings that can never work, with any files."""
    if settings.test_mode:
        return
    if settings.need_client_auth is ClientAuth.REQUIRE and not settings.server_trust_cert_path:
        raise ConfigError(
            "tls.server.need.client.auth=require needs tls.server.trustCertPath: without it every "
            "certificate would have to be accepted, which Python can't do; set it, or use optional"
        )


def _member(kind: type[_Choice], text: str, default: _Choice) -> _Choice:
    try:
        return kind(text)
    except ValueError:
        return default


def _items(name: str, text: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    if text and not items:
        raise ConfigError(f"{name}={text} names nothing: write names, separated by commas, or remove it")
    return items
