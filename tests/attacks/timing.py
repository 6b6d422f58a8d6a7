"""Does the time of a refusal reveal who is a user, or where a secret differs? Measured in rounds, and judged by ranks.

A round sends one request of each kind, in random order, so that what slows the machine down
slows all kinds down. For two kinds it counts in how many rounds the first one took longer. If both take equally long,
this is every second round, up to chance: `LIMIT` standard deviations, which one in a million runs exceeds.
"""

import json
import math
import random
import socket
import time
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path

from namekeeper.access.signature import sign
from namekeeper.http.doors import COOKIE
from tests.attacks.peers import ANSWER_SECONDS, Target, Wire, frame, write_down

__all__ = [
    "LIMIT",
    "RULES_FLAGS",
    "measure_refusals",
    "measure_refused_tokens",
    "time_reveals_something",
    "write_rules_with_users",
    "z_of",
]

RULES_FLAGS = {"access_file": "{folder}/access.toml"}
_RULES = """
mode = "enforce"
keys = "keys.toml"
[[rule]]
name = "all"
requests = ["any"]
users = ["one", "two"]
[[rule]]
name = "pages"
requests = ["http"]
users = ["one", "two"]
[[rule]]
name = "bystanders"
requests = ["read", 103, 104]
networks = ["127.0.0.0/8"]
"""
_KEYS = {"one": ["a-secret-of-one-that-nobody-guesses"], "two": ["a secret of two", "another of two"]}
_TIMES_FILE = "times.json"
_BODIES = {"a small body": (64, 3_000), "a large body": (1_000_000, 300)}
"""What is sent -> its bytes, and how many rounds."""
_TOKEN_ROUNDS = 1_000
LIMIT = 5.0


def write_rules_with_users(folder: Path) -> None:
    """Two users, of whom one is changing its key."""
    (folder / "access.toml").write_text(_RULES)
    keys = folder / "keys.toml"
    keys.write_text(
        "[users]\n" + "".join(f"{user} = {json.dumps(secrets)}\n" for user, secrets in _KEYS.items())
    )
    keys.chmod(0o600)


def measure_refusals(target: Target) -> None:
    """Send requests that nobody signed rightly, and write down how long each took."""
    found = {}
    with Wire(target.port) as wire:

        def refuse(request: bytes) -> float:
            begin = time.perf_counter()
            header, _ = wire.ask(request)
            seconds = time.perf_counter() - begin
            assert b'"code":16,' in header, header
            return seconds

        for name, (size, rounds) in _BODIES.items():
            found[name] = _rounds(target.times(rounds), _kinds(bytes(size)), refuse)
    _write_down(target, found)


def measure_refused_tokens(target: Target) -> None:
    """Ask for pages with tokens that are nobody's, and write down how long each refusal took."""

    def refuse(request: bytes) -> float:
        with socket.create_connection(("127.0.0.1", target.http_port), ANSWER_SECONDS) as connection:
            begin = time.perf_counter()
            connection.sendall(request)
            answer = connection.recv(65_536)
            seconds = time.perf_counter() - begin
        assert answer.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403")), answer
        return seconds

    _write_down(
        target,
        {
            way: _rounds(target.times(_TOKEN_ROUNDS), _tokens(make), refuse)
            for way, make in _TOKEN_WAYS.items()
        },
    )


def _write_down(target: Target, found: Mapping[str, Mapping[str, list[float]]]) -> None:
    if not target.salt:
        write_down(target.folder / _TIMES_FILE, json.dumps(found))


def time_reveals_something(target: Target) -> str:
    """Say which two kinds of refusals take different times."""
    file = target.folder / _TIMES_FILE
    if not file.exists():
        return "the measurement did not come to its end"
    said = []
    for name, times in json.loads(file.read_text()).items():
        for one, other in combinations(times, 2):
            z = z_of(times[one], times[other])
            if abs(z) > LIMIT:
                said.append(f"{name}: {one} takes another time than {other} (z = {z:.1f})")
    return "; ".join(said)


def z_of(times: list[float], others: list[float]) -> float:
    """Of pairs of times: by how many standard deviations the first one is longer more often than by chance."""
    pairs = list(zip(times, others, strict=True))
    longer = sum(one > other for one, other in pairs) + sum(one == other for one, other in pairs) / 2
    return (longer - len(pairs) / 2) / (math.sqrt(len(pairs)) / 2)


def _kinds(body: bytes) -> Mapping[str, bytes]:
    """Requests that are refused: of nobody, of a user with one key, of one with two, and with nearly the signature."""

    def signed(user: str, secret: str, change: Callable[[str], str] = str) -> bytes:
        fields = sign({"topic": "Timed"}, body, access_key=user, secret_key=secret)
        return frame(216, {**fields, "Signature": change(fields["Signature"])}, body)

    right = _KEYS["one"][0]
    return {
        "nobody": signed("xyz", "wrong"),
        "a user with one key": signed("one", "wrong"),
        "a user with two keys": signed("two", "wrong"),
        "a signature that begins wrongly": signed("one", right, lambda text: "#" + text[1:]),
        "a signature that ends wrongly": signed("one", right, lambda text: text[:-2] + "#="),
    }


def _page(line: str, *headers: str, body: str = "") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = (f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, *length, "", body)
    return "\r\n".join(lines).encode()


_TOKEN_WAYS: Mapping[str, Callable[[str], bytes]] = {
    "a bearer token": lambda token: _page("GET /status", f"Authorization: Bearer {token}"),
    "a cookie": lambda token: _page("GET /status", f"Cookie: {COOKIE}={token}"),
    "a login": lambda token: _page("POST /api/login", body=token),
}
"""Way in which a token comes -> its request."""


def _tokens(make: Callable[[str], bytes]) -> Mapping[str, bytes]:
    """Requests with tokens of one length, of which nothing or much is right."""
    right = _KEYS["one"][0]
    wrong = "#" * len(right)
    return {
        "nothing right": make(wrong),
        "the first half right": make(right[: len(right) // 2] + wrong[len(right) // 2 :]),
        "all but the end right": make(right[:-1] + "#"),
        "the end right": make("#" + right[1:]),
    }


def _rounds(
    count: int, kinds: Mapping[str, bytes], refuse: Callable[[bytes], float]
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in kinds}
    order = list(kinds)
    for _ in range(count):
        random.shuffle(order)
        for name in order:
            times[name].append(refuse(kinds[name]))
    return times
