"""The lists `tls.ciphers` and `tls.protocols`: their usable entries, and notes about the others."""

import ssl
import warnings

from msgspec import Struct

from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["TlsLists", "apply_lists", "openssl_cipher_name", "read_lists"]

VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_LIBRARY_VERSIONS = ("TLSv1.2", "TLSv1.3")
_LEFT_OUT = {
    "TLSv1.1": ssl.OP_NO_TLSv1_1,
    "TLSv1.2": ssl.OP_NO_TLSv1_2,
}
"""Versions that can lie between two others, and the option that turns each off."""
_SIGNALS = ("TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "TLS_FALLBACK_SCSV")
"""Names in lists of the JDK that stand for no cipher."""
_EXPRESSION = frozenset(":+!@, ")
"""Characters of OpenSSL's expressions, which are no names."""


class TlsLists(Struct, frozen=True):
    """The allowed ciphers and versions; an empty tuple of ciphers leaves the choice to OpenSSL."""

    ciphers: tuple[str, ...] = ()
    """OpenSSL's names of the ciphers up to TLS 1.2."""
    versions: tuple[str, ...] = ()
    """Names of `VERSIONS`, lowest first; empty: OpenSSL's choice."""
    notes: tuple[str, ...] = ()
    """A sentence for each part of the lists that has no effect."""


def read_lists(settings: TlsSettings) -> TlsLists:
    """Find the usable entries of the two lists.

    Raises:
        ConfigError: a protocol is unknown, or no entry of the lists can be used.
    """
    versions = _protocols(settings)
    if not settings.ciphers:
        return TlsLists((), versions)
    scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_tls13 = {cipher["name"] for cipher in scratch.get_ciphers() if cipher["protocol"] == "TLSv1.3"}
    named = [name for name in settings.ciphers if name not in _SIGNALS]
    new = {name for name in named if name in of_tls13}
    old = {name: openssl_cipher_name(name) for name in named if name not in of_tls13}
    unknown = [name for name, cipher in old.items() if not _is_cipher(scratch, cipher)]
    ciphers = tuple(dict.fromkeys(cipher for name, cipher in old.items() if name not in unknown))
    if not new and not ciphers:
        raise ConfigError(
            f"tls.ciphers has no cipher that OpenSSL knows: {','.join(settings.ciphers)};"
            " write names of ciphers, separated by commas, or remove it"
        )
    notes = [f"tls.ciphers: OpenSSL knows no cipher {name!r}; it is left out" for name in unknown]
    allowed = [
        name
        for name in versions or _LIBRARY_VERSIONS
        if (new if name == "TLSv1.3" else ciphers)  # a version without a cipher of it can't be spoken
    ]
    if not allowed:
        raise ConfigError(
            f"tls.ciphers={','.join(settings.ciphers)} has no cipher of"
            f" tls.protocols={','.join(versions)}: no peer could connect"
        )
    if "TLSv1.3" in allowed and new != of_tls13:
        also = ", ".join(sorted(of_tls13 - new))
        notes.append(
            f"tls.ciphers: ciphers of TLS 1.3 can't be chosen one by one, so these are allowed, too: {also};"
            " to turn TLS 1.3 off, name ciphers of TLS 1.2 alone"
        )
    return TlsLists(ciphers, tuple(allowed), tuple(notes))


def apply_lists(context: ssl.SSLContext, lists: TlsLists) -> None:
    """Allow in `context` the entries of the lists and nothing else."""
    if lists.ciphers:
        context.set_ciphers(":".join(lists.ciphers))
    if not lists.versions:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the operator asked for an old version
        context.minimum_version = VERSIONS[lists.versions[0]]
        context.maximum_version = VERSIONS[lists.versions[-1]]
        for name, option in _LEFT_OUT.items():
            if name not in lists.versions:
                context.options |= option


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


def _protocols(settings: TlsSettings) -> tuple[str, ...]:
    unknown = [name for name in settings.protocols if name not in VERSIONS]
    if unknown:
        raise ConfigError(f"tls.protocols: unknown {unknown[0]!r}; write TLSv1.2,TLSv1.3")
    return tuple(name for name in VERSIONS if name in settings.protocols)


def _is_cipher(scratch: ssl.SSLContext, name: str) -> bool:
    if _EXPRESSION & set(name):
        return False
    try:
        scratch.set_ciphers(name)
    except ssl.SSLError:
        return False
    return sum(cipher["protocol"] != "TLSv1.3" for cipher in scratch.get_ciphers()) == 1
