"""Makes `ssl` contexts of TLS settings. Everything here may block: call it in a thread when a loop runs."""

import ssl
import tempfile
from pathlib import Path

from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_settings import ClientAuth, TlsSettings, check_server_settings

__all__ = ["client_context", "page_context", "server_context"]

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Build the server's context; a ConfigError names the wrong setting."""
    check_server_settings(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, settings)
    if settings.test_mode:
        _load_self_signed(context)
        return context
    _load_chain(
        context,
        "tls.server",
        settings.server_cert_path,
        settings.server_key_path,
        settings.server_key_password,
    )
    context.verify_mode = _verify_mode(settings)
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, "tls.server", settings.server_trust_cert_path)
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext | None:
    """Build the context of clients; None if they don't speak TLS."""
    if not settings.enable:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # as in Java
    _limit(context, settings)
    if settings.test_mode or not settings.auth_server:
        context.verify_mode = ssl.CERT_NONE
    else:
        _load_trust(context, "tls.client", settings.client_trust_cert_path)
    if not settings.test_mode:
        _load_client_chain(context, settings)
    return context


def page_context(settings: TlsSettings) -> ssl.SSLContext:
    """Build the context of clients of operators' HTTPS pages.

    As everywhere on the web, chain and host name are verified, whatever else the settings say: nobody else
    gets a token. Without `client_trust_cert_path` the authorities of the system count.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, settings)
    _load_trust(context, "tls.client", settings.client_trust_cert_path)
    _load_client_chain(context, settings)
    return context


def openssl_cipher_name(name: str) -> str:
    """Turn a cipher's name in the JDK into OpenSSL's; others stay as they are.

    `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is `ECDHE-RSA-AES128-GCM-SHA256` there.
    """
    if "_WITH_" not in name:
        return name
    exchange, _, cipher = name.removeprefix("TLS_").removeprefix("SSL_").partition("_WITH_")
    cipher = (
        cipher.replace("AES_", "AES")
        .replace("_CBC_", "_")
        .replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    )
    parts = [cipher] if exchange == "RSA" else [exchange, cipher]
    return "-".join(parts).replace("_", "-")


def _limit(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Apply the lists of ciphers and protocols."""
    # OpenSSL does not choose suites of TLS 1.3 (names without a key exchange) this way: all stay enabled.
    ciphers = [openssl_cipher_name(name) for name in settings.ciphers if "_WITH_" in name or "-" in name]
    if ciphers:
        try:
            context.set_ciphers(":".join(ciphers))
        except ssl.SSLError:
            raise ConfigError(
                f"tls.ciphers has no cipher that OpenSSL knows: {','.join(settings.ciphers)}"
            ) from None
    if settings.protocols:
        unknown = [name for name in settings.protocols if name not in _VERSIONS]
        if unknown:
            raise ConfigError(f"tls.protocols: unknown {unknown[0]!r}; write TLSv1.2,TLSv1.3")
        versions = [_VERSIONS[name] for name in settings.protocols]
        context.minimum_version = min(versions)
        context.maximum_version = max(versions)


def _verify_mode(settings: TlsSettings) -> ssl.VerifyMode:
    """With authClient=false any certificate is accepted, so an optional one need not be requested."""
    if settings.need_client_auth is ClientAuth.REQUIRE:
        return ssl.CERT_REQUIRED
    if settings.need_client_auth is ClientAuth.OPTIONAL and settings.auth_client:
        return ssl.CERT_OPTIONAL
    return ssl.CERT_NONE


def _load_self_signed(context: ssl.SSLContext) -> None:
    # Imported here: a server without TLS clients saves its memory and time.
    from namekeeper.remoting.self_signed import make_self_signed

    certificate, key = make_self_signed()
    with tempfile.TemporaryDirectory(
        prefix="namekeeper-"
    ) as folder:  # readable by nobody else; ssl wants paths
        path = Path(folder, "self-signed.pem")
        path.write_bytes(key + certificate)
        context.load_cert_chain(path)


def _load_client_chain(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.client_cert_path:
        _load_chain(
            context,
            "tls.client",
            settings.client_cert_path,
            settings.client_key_path,
            settings.client_key_password,
        )


def _load_chain(context: ssl.SSLContext, side: str, cert: str, key: str, password: str) -> None:
    if not cert or not key:
        raise ConfigError(
            f"{side}.certPath and {side}.keyPath must both be set, or tls.test.mode.enable=true"
        )
    try:
        context.load_cert_chain(
            cert, key, password=lambda: password
        )  # a string: with None OpenSSL would ask on the terminal
    except (OSError, ValueError) as error:
        raise ConfigError(f"{side}.certPath={cert} and keyPath={key} can't be used: {error}") from None


def _load_trust(context: ssl.SSLContext, side: str, path: str) -> None:
    if not path:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{side}.trustCertPath={path} can't be used: {error}") from None
