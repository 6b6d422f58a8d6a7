"""The client of a page: the identity that its connection proves, and the token in the request."""

from aiohttp import web

from namekeeper.access.peer import Peer, certificate_names, peer_at

__all__ = ["client_of", "token_of"]


def client_of(request: web.BaseRequest) -> Peer:
    """The client's address, and the names in its certificate if TLS has verified one."""
    transport = request.transport
    certificate = None if transport is None else transport.get_extra_info("peercert")
    return peer_at(f"{request.remote or ''}:0", certificate_names(certificate))


def token_of(request: web.BaseRequest) -> str:
    """The bearer token of a request; empty if there is none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
