"""Sends a document to a webhook by HTTP POST: no redirects, no proxies, one time limit."""

import asyncio
import os
import ssl
import time
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any

from namekeeper import __version__
from namekeeper.errors import ConfigError
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome
from namekeeper.remoting.tls_contexts import page_context
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["certificate_problem", "outcome_of_status", "post_document"]

_REFUSALS = frozenset({400, 406, 409, 410, 413, 415, 422})
"""Statuses by which a receiver does not accept a message, now and later."""
_CERTIFICATE_PROBLEMS = {
    10: "its certificate has expired",
    18: "its certificate is self-signed: name its authority in tls_ca",
    19: "its certificate is of an unknown authority: name it in tls_ca",
    20: "its certificate is of an unknown authority: name it in tls_ca",
    62: "its certificate is for another host name",
    64: "its certificate is for another IP address",
}
"""Code of OpenSSL -> text."""


async def post_document(
    url: str, document: bytes, *, message: str, token: str, tls_ca: str, within_ms: int
) -> AttemptOutcome:
    """Send a document, and wait for the status of the answer; its body is not read.

    Args:
        url: http or https.
        document: JSON.
        message: id of the message, sent as `Idempotency-Key`.
        token: sent as bearer token; empty: none.
        tls_ca: a file with the authorities of the receiver; empty: those of the system.
        within_ms: time limit of the connection and the answer together.
    """
    # The import takes a fifth of a second, and other commands need no HTTP.
    aiohttp = await asyncio.to_thread(import_module, "aiohttp")
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": message,
        "User-Agent": f"namekeeper/{__version__}",
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        context = await asyncio.to_thread(page_context, TlsSettings(client_trust_cert_path=tls_ca))
        async with asyncio.timeout(within_ms / 1_000):
            connector = aiohttp.TCPConnector(force_close=True)
            async with (
                aiohttp.ClientSession(connector=connector, trust_env=False) as session,
                session.post(
                    url, data=document, headers=headers, ssl=context, allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None),
                ) as response,
            ):  # fmt: skip
                return outcome_of_status(
                    response.status, response.headers.get("Retry-After", ""), time.time()
                )
    except TimeoutError:
        return _failed(f"no answer within {within_ms / 1_000:g} s")
    except ConfigError:
        return _failed(f"the file of its authorities can't be used: {tls_ca}")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return _failed(_reason(aiohttp, error))


def outcome_of_status(status: int, retry_after: str = "", now: float | None = None) -> AttemptOutcome:
    """The outcome by the HTTP status of the answer.

    Args:
        status: of the answer.
        retry_after: the header `Retry-After`; empty: none.
        now: seconds since 1970, for a date in the header; None: dates are ignored.
    """
    if 200 <= status < 300:
        return AttemptOutcome(AttemptEnd.ACKNOWLEDGED)
    if 300 <= status < 400:
        return _failed(f"it redirects (HTTP {status}), which is not followed: give the address of the target")
    kind = AttemptEnd.REFUSED if status in _REFUSALS else AttemptEnd.FAILED
    return AttemptOutcome(kind, f"HTTP {status}", _pause_ms(retry_after, now))


def certificate_problem(error: ssl.SSLError) -> str:
    """The problem with a certificate, or with the TLS of a peer."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return "TLS failed: does it speak HTTPS?"
    return _CERTIFICATE_PROBLEMS.get(
        error.verify_code, f"its certificate can't be verified (OpenSSL code {error.verify_code})"
    )


def _failed(reason: str) -> AttemptOutcome:
    return AttemptOutcome(AttemptEnd.FAILED, reason)


def _pause_ms(text: str, now: float | None) -> int | None:
    """The pause that a receiver asks for, in seconds or as a date."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return int(text[:9]) * 1_000
    if not text or now is None:
        return None
    try:
        return max(int((parsedate_to_datetime(text).timestamp() - now) * 1_000), 0)
    except (ValueError, TypeError, OverflowError):
        return None


def _reason(aiohttp: Any, error: Exception) -> str:  # noqa: ANN401 - a module that is imported late
    """Why there is no answer, without the address: it may hold a secret."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        found = error.certificate_error
        return certificate_problem(found) if isinstance(found, ssl.SSLError) else "its certificate is wrong"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its host name can't be resolved"
    if isinstance(error, aiohttp.ClientSSLError):
        return "TLS failed: does it speak HTTPS?"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return "no connection" + (f": {os.strerror(number)}" if number else "")
    if isinstance(error, ValueError | aiohttp.NonHttpUrlClientError):
        return "its URL can't be used: it begins with https:// or http://"
    return "the connection ended without an answer"
