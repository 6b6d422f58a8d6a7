"""What an operator's files and a peer's bytes may do to access control: give a value, or one of our errors."""

import contextlib
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from itertools import product

from namekeeper.access.names import names_in
from namekeeper.access.peer import Peer, peer_at
from namekeeper.access.request_class import CLASSES
from namekeeper.access.rules import AccessCase, explain
from namekeeper.access.rules_file import parse_access_file, parse_keys_file
from namekeeper.access.signature import signer_of
from namekeeper.errors import ConfigError, ProtocolError
from namekeeper.wire.json_header import decode_json_header

__all__ = ["FUZZ_TARGETS"]

_PEERS = (Peer(), Peer(ip_address("10.0.0.1")), Peer(ip_address("fd00::1"), ("CN=a",)))
_KEYS = {"RocketMQ": ("a key that nobody guesses", "another one"), "": ("",)}


def fuzz_access_file(data: bytes) -> None:
    """A file is refused, or each request is judged by it, and explained as it is judged."""
    with contextlib.suppress(ConfigError):
        rules = parse_access_file(data.decode(errors="replace"), source="access.toml").rules
        for code, peer in product(CLASSES, _PEERS):
            decision, verdicts = explain(rules, AccessCase(code=int(code), peer=peer, user="a"))
            held = [verdict.rule for verdict in verdicts if verdict.text == "holds"]
            assert held == ([] if decision.rule is None else [decision.rule])


def fuzz_keys_file(data: bytes) -> None:
    """A file is refused, or gives each user at least one key that is not empty."""
    with contextlib.suppress(ConfigError):
        keys = parse_keys_file(data.decode(errors="replace"), source="keys.toml", environment={"A": "b"})
        assert all(user and values and all(values) for user, values in keys.items())


def fuzz_signed_request(data: bytes) -> None:
    """Whatever the header of a request says: nobody is proved without the key, and nothing fails."""
    with contextlib.suppress(ProtocolError):
        request = decode_json_header(data)
        fields = request.ext_fields
        assert signer_of(fields, request.body, _KEYS).user is None
        names_in(request.code, fields)
        peer_at(str(request.remark))


FUZZ_TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "access_file": fuzz_access_file,
    "access_keys": fuzz_keys_file,
    "signed_request": fuzz_signed_request,
}
