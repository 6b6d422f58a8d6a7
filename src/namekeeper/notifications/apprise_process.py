"""Sends one message by apprise, in a process of its own that its parent ends after a time limit.

The parent writes one line of JSON with the address and the texts, and reads one with what happened. So a
receiver that never answers costs no thread, and no log of a library shows an address.
"""

import io
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["main", "send"]

ANSWER_BYTES = 256 << 10
"""Bytes of an answer that are read: apprise looks for ids and errors in it."""
_PIECE_BYTES = 16 << 10


def main() -> None:
    """Read the order from stdin, and write the result to stdout."""
    logging.disable(logging.CRITICAL)  # apprise and urllib3 log parts of addresses
    out, sys.stdout = sys.stdout, io.StringIO()
    result = send(json.loads(sys.stdin.read()))
    out.write(json.dumps(result))
    out.flush()


def send(order: dict[str, str]) -> dict[str, Any]:
    """Send a message.

    Args:
        order: `url`, `title`, `body`, and `type`, as apprise names it.

    Returns:
        `is_sent`; `problem`: `missing` without apprise, `url` for an address that it does not understand,
        `tls`, `timeout` or `connection`; `status` and `retry_after` of the last HTTP answer.
    """
    try:
        import apprise
        import requests
    except ImportError:
        return {"is_sent": False, "problem": "missing"}
    result: dict[str, Any] = {"is_sent": False}
    _watch(requests, result)
    asset = apprise.AppriseAsset(http_redirects=False, async_mode=False, plugin_paths=[], secure_logging=True)
    service = apprise.Apprise.instantiate(order["url"], asset=asset)
    if service is None:
        return {"is_sent": False, "problem": "url"}
    sender = apprise.Apprise(asset=asset)
    sender.add(service)
    is_sent = sender.notify(
        body=order["body"], title=order["title"], notify_type=order["type"], body_format="text"
    )
    return {**result, "is_sent": bool(is_sent)}


def _watch(requests: Any, result: dict[str, Any]) -> None:  # noqa: ANN401 - a module that is imported late
    """Note what the last request met, and follow no redirect: the target would get what the message has."""
    session = requests.sessions.Session
    send_request: Callable[..., Any] = session.send

    def noted(self: object, request: object, **options: object) -> object:
        result.pop("status", None)
        result.pop("problem", None)
        try:
            response = send_request(self, request, **{**options, "stream": True})
            _read_beginning(response)
        except requests.exceptions.SSLError:
            result["problem"] = "tls"
            raise
        except requests.exceptions.Timeout:
            result["problem"] = "timeout"
            raise
        except requests.exceptions.RequestException:
            result["problem"] = "connection"
            raise
        result["status"] = response.status_code
        result["retry_after"] = response.headers.get("Retry-After", "")
        return response

    session.send = noted
    session.get_redirect_target = lambda _self, _response: None


def _read_beginning(response: Any) -> None:  # noqa: ANN401 - as above
    """Read the beginning of an answer's body; by itself the library reads all, and a body may have no end."""
    body = b""
    for piece in response.iter_content(_PIECE_BYTES):
        body += piece
        if len(body) >= ANSWER_BYTES:
            break
    response._content, response._content_consumed = body, True  # noqa: SLF001 - it has no other place
    response.close()


if __name__ == "__main__":
    main()
