"""Who may ask the page: the names of a host that it answers to, the token off loopback, access rules."""

import hmac
import ipaddress
import secrets
from collections.abc import Callable, Collection

from msgspec import Struct

from namekeeper.access.peer import peer_at
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.request_class import HTTP_PAGES
from namekeeper.access.rules import PeerRules
from namekeeper.access.signature import user_of_key

__all__ = ["COOKIE", "Doors", "is_loopback", "make_token"]

COOKIE = "namekeeper_console"
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})


class Doors(Struct, frozen=True):
    """The conditions of a request."""

    host: str
    """The address at which the page listens."""
    names: frozenset[str] = frozenset()
    """Further names of this host that a browser may use."""
    token: str = ""
    """Empty: nobody needs one."""
    remedy: str = "give --allow-host for it"
    """What to do about a name that is refused."""
    policy: Callable[[], AccessPolicy] | None = None
    """Gives the access rules that hold now; None: there are none."""

    def refuse_host(self, header: str | None) -> str | None:
        """Why the host name of a request is refused; None if it is accepted.

        A stranger's page can make a browser resolve the stranger's name to our address; then the header has
        that name.
        """
        name = _host_of(header or "")
        if name in self.names or name == self.host.lower():
            return None
        is_local = name in _LOCAL_NAMES or is_loopback(name)
        is_ours = is_local if is_loopback(self.host) else _is_address(name)
        return None if is_ours else f"this page does not go by that name: {self.remedy}"

    def refuse_token(self, tokens: Collection[str]) -> str | None:
        """Why the tokens of a request are refused; None if one of them is right."""
        if not self.token or any(hmac.compare_digest(each.encode(), self.token.encode()) for each in tokens):
            return None
        return "a token is needed: it is in the address that the console printed when it started"

    def refuse_peer(self, host: str, tokens: Collection[str]) -> str | None:
        """Why access rules refuse the page to an address, and to the users whose keys came as tokens.

        A rule about the operators' pages must allow it, also with the mode audit: nobody had it before.
        """
        if self.policy is None:
            return None
        policy = self.policy()
        users = [user_of_key(token, policy.keys) for token in tokens if token]
        rules = PeerRules(policy.rules, peer_at(f"{host}:0"))
        if any(rules.judge(HTTP_PAGES, user).allowed for user in (None, *users)):
            return None
        return "access rules refuse the page: a token is needed, the secret key of a user who may read it"


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this host only."""
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_token() -> str:
    """A random token that can't be guessed."""
    return secrets.token_urlsafe(24)


def _host_of(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
