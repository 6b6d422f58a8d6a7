"""One attempt to send a message to a receiver, by its way; the outcome names no address and no secret."""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import msgspec

from namekeeper.answers.times import Zone
from namekeeper.errors import ConfigError
from namekeeper.files import read_named_text
from namekeeper.notifications.message import EventKind, Message, body_of, title_of
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome
from namekeeper.notifications.receivers import IncidentSeverity, Receiver, SecretSource, SendBy
from namekeeper.notifications.webhook import outcome_of_status, post_document

__all__ = ["NO_APPRISE", "SECRET_BYTES", "Send", "Sender", "check_secrets", "read_secret"]

SECRET_BYTES = 4_096
"""Longest address, token or key."""
_NOT_DELIVERED = "apprise could not deliver it: check the address, the password and that the service answers"
NO_APPRISE = "apprise is not installed: pip install 'namekeeper[messages]'"

Send = Callable[[Receiver, Message], Awaitable[AttemptOutcome]]

_PROBLEMS = {
    "missing": NO_APPRISE,
    "url": "apprise does not understand its URL",
    "tls": "its certificate can't be verified, or it does not speak TLS",
    "timeout": "no answer in time",
    "connection": "no connection",
}
_START_MS = 5_000
"""Time for the start of a process and of apprise, in addition to the limit of an attempt."""
_TYPES = {
    IncidentSeverity.INFO: "info",
    IncidentSeverity.WARNING: "warning",
    IncidentSeverity.CRITICAL: "failure",
}


class Sender:
    """Sends messages; each call is one attempt.

    Args:
        zone: of times in texts.
        environment: the variables that receivers may name.
    """

    def __init__(self, zone: Zone, environment: Mapping[str, str] = os.environ) -> None:
        self._zone, self._environment = zone, environment

    async def __call__(self, receiver: Receiver, message: Message) -> AttemptOutcome:
        """Send a message to a receiver."""
        try:
            url = await asyncio.to_thread(read_secret, receiver.url, self._environment)
            token = ""
            if receiver.token is not None:
                token = await asyncio.to_thread(read_secret, receiver.token, self._environment)
        except ConfigError as error:
            return AttemptOutcome(AttemptEnd.FAILED, str(error))
        if receiver.send_by is SendBy.APPRISE:
            return await self._by_apprise(url, message, receiver.within_ms)
        return await post_document(
            url, msgspec.json.encode(message), message=message.message, token=token,
            tls_ca=receiver.tls_ca, within_ms=receiver.within_ms,
        )  # fmt: skip

    async def _by_apprise(self, url: str, message: Message, within_ms: int) -> AttemptOutcome:
        order = {
            "url": url, "title": title_of(message), "body": body_of(message, self._zone),
            "type": _type_of(message),
        }  # fmt: skip
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "namekeeper.notifications.apprise_process",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with asyncio.timeout((within_ms + _START_MS) / 1_000):
                out, _ = await child.communicate(json.dumps(order).encode())
        except TimeoutError:
            return AttemptOutcome(AttemptEnd.FAILED, f"no answer within {within_ms / 1_000:g} s")
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
        return _outcome_of(out)


def read_secret(source: SecretSource, environment: Mapping[str, str]) -> str:
    """Read an address, a token or a key.

    Raises:
        ConfigError: the secret is not there; the message names the file or the variable, never what is in it.
    """
    if source.env:
        found = environment.get(source.env, "").strip()
        if not found:
            raise ConfigError(f"the environment variable {source.env} is not set")
        return found
    found = read_named_text(source.file, limit=SECRET_BYTES).strip()
    if not found or not found.isprintable():
        raise ConfigError(f"{source.file} must hold one line")
    return found


def check_secrets(receivers: Iterable[Receiver], environment: Mapping[str, str] = os.environ) -> None:
    """Look whether the secrets of receivers are there, and apprise if a receiver needs it.

    Raises:
        ConfigError: something is missing; the message says what.
    """
    for receiver in receivers:
        for source in filter(None, (receiver.url, receiver.token)):
            try:
                read_secret(source, environment)
            except ConfigError as error:
                raise ConfigError(f"receiver {receiver.name!r}: {error}") from None
        if receiver.send_by is SendBy.APPRISE and find_spec("apprise") is None:
            raise ConfigError(f"receiver {receiver.name!r}: {NO_APPRISE}")


def _type_of(message: Message) -> str:
    if message.is_test:
        return "info"
    open_ones = [each.severity for each in message.events if each.event is EventKind.OPENED]
    if message.events[-1].event is EventKind.CLOSED and len({each.incident for each in message.events}) == 1:
        return "success"
    return _TYPES[max(open_ones, key=lambda each: each.rank)] if open_ones else "success"


def _outcome_of(out: bytes) -> AttemptOutcome:
    try:
        result: dict[str, Any] = json.loads(out)
    except ValueError:
        return AttemptOutcome(AttemptEnd.FAILED, "apprise ended without a result")
    if result.get("is_sent"):
        return AttemptOutcome(AttemptEnd.ACKNOWLEDGED)
    if "problem" in result:
        return AttemptOutcome(AttemptEnd.FAILED, _PROBLEMS.get(str(result["problem"]), "apprise failed"))
    status = int(result.get("status", 0))
    if status and not 200 <= status < 300:
        return outcome_of_status(status, str(result.get("retry_after", "")), time.time())
    return AttemptOutcome(AttemptEnd.FAILED, _NOT_DELIVERED)
