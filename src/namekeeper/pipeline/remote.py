"""Checks that a Spark Connect server listens at an address; Spark itself would try for ten minutes."""

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies

from namekeeper.pipeline.errors import PipelineError

__all__ = ["check_listening"]

_USUAL_PORT = 15002
_SECONDS = 10


def check_listening(remote: str) -> None:
    """Connect to a Spark Connect server, and close the connection.

    If the environment names a proxy, which gRPC would use, nothing is tried.

    Args:
        remote: Its address, `sc://host:port/;parameters`; another form, such as `local[2]`, is left to Spark.

    Raises:
        PipelineError: The address is malformed, or nothing listens there.
    """
    if not remote.startswith("sc://") or getproxies():
        return
    host, port = _address_in(remote)
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except OSError as error:
        raise PipelineError(
            f"no Spark Connect server listens at {host}:{port}: {error.strerror or error}; start it, or"
            " give its address with --remote"
        ) from None


def _address_in(remote: str) -> tuple[str, int]:
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port or _USUAL_PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise PipelineError(f"{remote!r} is no address of Spark Connect: write it as sc://HOST:PORT")
    return host, port
