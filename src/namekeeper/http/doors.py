"""Access to the page: the names of a host that it answers to, the token off loopback, access rules."""

import hmac
import ipaddress
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct

from namekeeper.access.judged import about, refusal_of
from namekeeper.access.names import Names
from namekeeper.access.peer import Peer
from namekeeper.access.planning import judge_plan
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.request_class import HTTP_PAGES
from namekeeper.access.rules import PeerRules
from namekeeper.access.signature import user_of_key

__all__ = ["COOKIE", "Doors", "Planner", "is_loopback", "make_token", "problem_with_host_name"]

COOKIE = "namekeeper_console"
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})
_OWN_SITES = frozenset({"same-origin", "none"})
"""Browsers send these values for a request by a page to its own server, and for one by the person."""
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s\[\]:/?#@\\]+))(:\d*)?")
"""`[address]` or a name, and a port."""


class Planner(Struct, frozen=True):
    """A user who may write a plan, and the rule that says so."""

    user: str
    rule: str


class Doors(Struct, frozen=True):
    """The conditions of a request."""

    host: str
    """The address at which the page listens."""
    names: frozenset[str] = frozenset()
    """Further names of this host that a browser may use."""
    token: str = ""
    """Empty: no client needs one."""
    credential_place: str = "it is in the address that the console printed when it started"
    """Where a person finds the token."""
    remedy: str = "give --allow-host for it"
    """The remedy for a refused name."""
    policy: Callable[[], AccessPolicy] | None = None
    """Returns the access rules that hold now; None: there are none."""
    own_names: frozenset[str] = frozenset()
    """Names that this host has by itself: no page of another server may send forms because of them."""

    def refuse_host(self, header: str | None, token: str = "") -> str | None:
        """Why the host name of a request is refused; None if it is accepted.

        A stranger's page can make a browser resolve the stranger's name to this server's address. Then the
        header has that name. Such a page knows no token.

        Args:
            header: the host name, and a port.
            token: the bearer token of the request; empty: none.
        """
        name = _host_of(header or "")
        if name in self.names or name in self.own_names or name == self.host.lower() != "":
            return None
        is_local = name in _LOCAL_NAMES or is_loopback(name)
        is_ours = is_local if is_loopback(self.host) else _is_address(name)
        if is_ours or (token and self.knows(token)):
            return None
        return f"this page does not go by that name: {self.remedy}"

    def refuse_origin(self, headers: Mapping[str, str]) -> str | None:
        """Why a request that changes something is refused to its page; None if it is accepted.

        Browsers name the page. Other clients name none, and no stranger can make them send a request.
        """
        if headers.get("Sec-Fetch-Site") in _OWN_SITES:
            return None
        origin = headers.get("Origin")
        if origin is None and "Sec-Fetch-Site" not in headers:
            return None
        authority = (origin or "").lower().partition("://")[2]
        host = headers.get("Host", "").strip().lower()
        if authority and (authority == host or _host_of(authority) in self.names):
            return None
        return f"the page of another server may not send this: {self.remedy}"

    def knows(self, token: str) -> bool:
        """Whether a token is valid: the one of the console, or the key of a user."""
        if self.token and _is_same(token, self.token):
            return True
        return self.policy is not None and user_of_key(token, self.policy().keys) is not None

    def refuse_token(self, tokens: Collection[str]) -> str | None:
        """Why the tokens of a request are refused; None if one of them is correct."""
        if not self.token or any(_is_same(each, self.token) for each in tokens):
            return None
        return f"a token is needed: {self.credential_place}"

    def refuse_peer(self, peer: Peer, tokens: Collection[str]) -> str | None:
        """Why access rules refuse the page to a peer, and to the users whose keys came as tokens.

        A rule about the operators' pages must allow it, also with the mode audit: no peer had the page
        before.
        """
        if self.policy is None:
            return None
        policy = self.policy()
        users = [user_of_key(token, policy.keys) for token in tokens if token]
        rules = PeerRules(policy.rules, peer)
        if any(rules.judge(HTTP_PAGES, user).allowed for user in (None, *users)):
            return None
        return "access rules refuse the page: a token is needed, the secret key of a user who may read it"

    def planner(self, peer: Peer, token: str, parts: Iterable[Names]) -> Planner | str:
        """The user who may write a plan, or why the request is refused.

        Only access rules give this right: the token of the console does not.

        Args:
            peer: sent the request.
            token: its bearer token; empty: none. A cookie would let other pages of the browser write.
            parts: what the request is about, see `plan_parts`.
        """
        if self.policy is None:
            return (
                "nobody may plan at this port: start it with --access-file FILE, whose rules name the users"
                ' who may (requests = ["planning"])'
            )
        policy = self.policy()
        user = user_of_key(token, policy.keys) if token else None
        if user is None:
            return "access rules refuse this: a token is needed, the secret key of a user who may plan"
        parts = [*parts]
        decision = judge_plan(policy.rules, peer, user, parts)
        if not decision.allowed:
            names = ", ".join(name for part in parts for name in about(part))
            return f"user {user}{f', {names},' if names else ''} is {refusal_of(decision)}"
        return Planner(user, str(decision.rule))


def is_loopback(host: str) -> bool:
    """Whether only this host can reach an address."""
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
    """The name in a Host header, without port and brackets; empty if the header has none."""
    found = _AUTHORITY.fullmatch(header.strip().lower())
    if found is None:
        return ""
    address, name, _ = found.groups()
    return address or name.removesuffix(".")


def problem_with_host_name(name: str) -> str | None:
    """Why no request has this name for a host, with a correct name; None if a request may have it."""
    if _is_address(name):
        return None
    if "*" in name:
        return f"{name} is no host name: write each name, * stands for none"
    meant = _host_of(name.rpartition("://")[2].partition("/")[0])
    if meant == name.lower():
        return None
    return f"{name} is no host name" + (f": write {meant}" if meant else "")


def _is_same(token: str, wanted: str) -> bool:
    return hmac.compare_digest(wanted.encode(errors="replace"), token.encode(errors="surrogatepass"))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
