"""The present TLS settings of a name server, including the keys of `tls.config.file`."""

import contextlib
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from namekeeper.config.property import PropertyGroup, format_value
from namekeeper.config.settings import SPECS
from namekeeper.config.startup import Startup, with_tls_file
from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, read_if_exists
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_settings import ClientAuth, TlsMode, TlsSettings

if TYPE_CHECKING:
    from namekeeper.remoting.tls_client import ClientTls

__all__ = ["PortTls", "client_tls", "port_tls", "read_http_tls_settings", "read_tls_settings"]


class PortTls(Struct, frozen=True, kw_only=True):
    """TLS of the ports of a server."""

    remoting: TlsContexts
    http: TlsContexts | None
    """None if the operators' pages speak plain HTTP, or are off."""


def read_tls_settings(startup: Startup) -> TlsSettings:
    """Override the settings by the TLS file if it is readable; blocks on the disk.

    Raises:
        ConfigError: the file holds unusable content.
    """
    settings = startup.settings
    data = None
    with contextlib.suppress(OSError):  # as in Java, an unreadable file is ignored
        data = read_if_exists(settings.tls_config_file, limit=SMALL_FILE_BYTES)
    if data is not None:
        settings, _ = with_tls_file(settings, data, startup.given)
    return TlsSettings.from_properties(
        {
            spec.name: format_value(getattr(settings, spec.field))
            for spec in SPECS.values()
            if spec.facts.group is PropertyGroup.TLS
        }
    )


def read_http_tls_settings(startup: Startup) -> TlsSettings:
    """Read the TLS settings of the operators' pages: certificate and authorities are those of the other port.

    Raises:
        ConfigError: the file holds unusable content, or certificate or authorities are missing.
    """
    settings = startup.settings
    found = structs.replace(
        read_tls_settings(startup),
        mode=TlsMode(settings.http_tls_mode),
        need_client_auth=ClientAuth(settings.http_tls_need_client_auth),
        auth_client=True,
    )
    if found.test_mode or not found.server_cert_path or not found.server_key_path:
        raise ConfigError(
            "httpTlsMode=enforcing: needs a certificate that clients can verify: set"
            " tls.test.mode.enable=false, tls.server.certPath and tls.server.keyPath"
        )
    if found.need_client_auth is not ClientAuth.NONE and not found.server_trust_cert_path:
        raise ConfigError(
            f"httpTlsNeedClientAuth={found.need_client_auth.value}: needs tls.server.trustCertPath, the"
            " authorities whose certificates count"
        )
    return found


def port_tls(startup: Startup) -> PortTls:
    """The TLS contexts of both ports.

    Raises:
        ConfigError: as `read_tls_settings` and `read_http_tls_settings`.
    """
    settings = startup.settings
    http = None
    remoting = TlsContexts(lambda: read_tls_settings(startup))
    if settings.http_tls_mode != TlsMode.DISABLED and settings.http_port >= 0:
        http = TlsContexts(lambda: read_http_tls_settings(startup), port="the operators' port")
    return PortTls(remoting=remoting, http=http)


def client_tls(startup: Startup) -> "ClientTls | None":
    """The TLS of this server's requests; None, without reading files, if they are not encrypted.

    Raises:
        ConfigError: the certificates can't be used.
    """
    if not startup.settings.tls_enable:
        return None
    # Imported here: most servers send no requests by TLS.
    from namekeeper.remoting.tls_client import ClientTls

    return ClientTls(lambda: read_tls_settings(startup))
