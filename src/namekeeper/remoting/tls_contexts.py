"""Makes `ssl` contexts from TLS settings. All functions may block: call them in a thread when a loop runs."""

import contextlib
import errno
import os
import ssl
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, problem_with, read_if_exists
from namekeeper.remoting.tls_lists import VERSIONS, TlsLists, apply_lists, read_lists
from namekeeper.remoting.tls_settings import ClientAuth, TlsSettings, check_server_settings

__all__ = ["ServerTls", "client_context", "client_notes", "page_context", "server_tls"]

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"


class ServerTls(Struct, frozen=True, kw_only=True):
    """A server's context, and facts about its files; times in seconds since 1970."""

    context: ssl.SSLContext
    not_before: float = 0.0
    not_after: float | None = None
    """Expiry of the server's certificate; None for one that was made on the spot."""
    trust_not_after: float | None = None
    """Expiry of the last authority; None: none are asked."""
    cert_path: str = ""
    trust_path: str = ""
    notes: tuple[str, ...] = ()
    """A sentence for each part of the settings that has no effect."""

    def problem(self, now: float) -> str:
        """Why peers refuse this certificate now, or the server refuses theirs; otherwise empty."""
        if self.not_after is not None and now >= self.not_after:
            return f"the certificate in {self.cert_path} expired at {_time(self.not_after)}"
        if now < self.not_before:
            return f"the certificate in {self.cert_path} is not valid before {_time(self.not_before)}"
        if self.trust_not_after is not None and now >= self.trust_not_after:
            return f"the authorities in {self.trust_path} expired at {_time(self.trust_not_after)}"
        return ""


def server_tls(settings: TlsSettings) -> ServerTls:
    """Build the server's context; a ConfigError names the wrong setting."""
    check_server_settings(settings)
    lists = read_lists(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    apply_lists(context, lists)
    if settings.test_mode:
        _load_self_signed(context)
        _, notes = _try_out(context, settings, lists)
        return ServerTls(context=context, notes=notes)
    _load_chain(
        context,
        "tls.server",
        settings.server_cert_path,
        settings.server_key_path,
        settings.server_key_password,
    )
    certificate, notes = _try_out(context, settings, lists)
    not_before, not_after = _validity(certificate)
    context.verify_mode = _verify_mode(settings)
    trust_not_after = None
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, "tls.server", settings.server_trust_cert_path)
        if settings.server_trust_cert_path:
            trust_not_after = _last_expiry(context)
    return ServerTls(
        context=context,
        not_before=not_before,
        not_after=not_after,
        trust_not_after=trust_not_after,
        cert_path=settings.server_cert_path,
        trust_path=settings.server_trust_cert_path,
        notes=notes,
    )


def client_context(settings: TlsSettings) -> ssl.SSLContext | None:
    """Build the context of clients; None if they don't speak TLS."""
    if not settings.enable:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # as in Java
    apply_lists(context, read_lists(settings))
    if settings.test_mode or not settings.auth_server:
        context.verify_mode = ssl.CERT_NONE
    else:
        _load_trust(context, "tls.client", settings.client_trust_cert_path)
    if not settings.test_mode:
        _load_client_chain(context, settings)
    return context


def client_notes(settings: TlsSettings) -> tuple[str, ...]:
    """A sentence for each part of the lists that has no effect."""
    return read_lists(settings).notes


def page_context(settings: TlsSettings) -> ssl.SSLContext:
    """Build the context of clients of operators' HTTPS pages.

    As everywhere on the web, it verifies chain and host name, with any settings: no other server gets a
    token. Without `client_trust_cert_path` the authorities of the system count.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    apply_lists(context, read_lists(settings))
    _load_trust(context, "tls.client", settings.client_trust_cert_path)
    _load_client_chain(context, settings)
    return context


def _try_out(server: ssl.SSLContext, settings: TlsSettings, lists: TlsLists) -> tuple[bytes, tuple[str, ...]]:
    """Make a handshake with a client in memory; return the server's certificate (DER), and all notes.

    Lists and certificate may leave nothing that a peer could speak, such as ciphers for another kind of key.
    OpenSSL finds that out only when a peer comes.
    """
    certificate, failed, why = b"", [], ""
    for version in lists.versions or ("",):
        try:
            certificate = _shake_hands(server, version)
        except (ssl.SSLError, ValueError) as error:
            failed.append(version)
            why = str(error)
    if not certificate:
        raise ConfigError(
            f"no peer could connect with tls.ciphers={','.join(settings.ciphers)},"
            f" tls.protocols={','.join(settings.protocols)} and this certificate: {why}"
        )
    refused = tuple(f"tls.protocols: OpenSSL does not speak {version} here" for version in failed)
    return certificate, lists.notes + refused


def _shake_hands(server: ssl.SSLContext, version: str) -> bytes:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.set_ciphers("ALL:@SECLEVEL=0")
    if version:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # an old version that the operator named
            client.minimum_version = client.maximum_version = VERSIONS[version]
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    ours = client.wrap_bio(to_client, to_server)
    for side in (ours, theirs) * 4:  # each flight of messages, and more than any version needs
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return ours.getpeercert(binary_form=True) or b""


def _validity(certificate: bytes) -> tuple[float, float]:
    # Imported here: a server without certificates of its own saves its memory and time.
    from cryptography import x509

    found = x509.load_der_x509_certificate(certificate)
    return found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()


def _last_expiry(context: ssl.SSLContext) -> float | None:
    ends = [ssl.cert_time_to_seconds(str(authority["notAfter"])) for authority in context.get_ca_certs()]
    return max(ends, default=None)


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
    with _private_file(key + certificate) as path:
        context.load_cert_chain(path)


@contextlib.contextmanager
def _private_file(data: bytes) -> Iterator[str]:
    """A file that no other user can read, because `ssl` wants paths; in memory if possible."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        # A hardened host has no folder for temporary files.
        with os.fdopen(os.memfd_create("namekeeper"), "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    import tempfile  # imported here, as above

    with tempfile.NamedTemporaryFile(prefix="namekeeper-") as file:
        file.write(data)
        file.flush()
        yield file.name


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
    _check_pem(f"{side}.certPath", cert)
    _check_pem(f"{side}.keyPath", key)
    try:
        context.load_cert_chain(
            cert, key, password=lambda: password
        )  # a string: with None OpenSSL would ask on the terminal
    except (OSError, ValueError) as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            raise ConfigError(
                f"{side}.keyPath={key} is not the key of the certificate in {side}.certPath={cert}"
            ) from None
        raise ConfigError(
            f"{side}.certPath={cert} and keyPath={key} can't be used: {error};"
            f" is {side}.keyPassword the password of the key?"
        ) from None


def _load_trust(context: ssl.SSLContext, side: str, path: str) -> None:
    if not path:
        context.load_default_certs()
        return
    _check_pem(f"{side}.trustCertPath", path)
    try:
        context.load_verify_locations(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{side}.trustCertPath={path} can't be used: {error}") from None


def _check_pem(name: str, path: str) -> None:
    """Raise ConfigError for a file that is unreadable or cut off; OpenSSL takes some of these."""
    try:
        # OpenSSL would wait for the other end of a pipe, and read a device without end.
        data = read_if_exists(path, limit=SMALL_FILE_BYTES)
    except OSError as error:
        raise ConfigError(f"{name}={path} can't be used: {problem_with(path, error)}") from None
    if data is None:
        raise ConfigError(f"{name}={path} can't be used: {os.strerror(errno.ENOENT)}")
    if not data.strip():
        raise ConfigError(f"{name}={path} is empty")
    blocks = data.count(_BEGIN)
    if not blocks and _DASHES not in data:
        raise ConfigError(f"{name}={path} is no PEM file: there is no -----BEGIN")
    last = data.rpartition(_END)[2]
    if blocks != data.count(_END) or last.count(_DASHES) != 1:
        raise ConfigError(f"{name}={path} is cut off: a -----BEGIN has no -----END")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
