"""Rows of access rules: look-ups under rules by network, and signed ones, beside those without rules."""

import contextlib
from pathlib import Path
from typing import Any

from benchmarks.load.bench import Bench, Meter, Sample
from benchmarks.load.fleet import Fleet, registered
from benchmarks.load.payload import BASE_BROKERS, base_topic
from benchmarks.load.servers import Server
from benchmarks.load.steady import ROUTE_BYTES, base_frames, check_routes, failures, warm_up
from namekeeper.access.signature import SIGNATURE, sign

__all__ = ["run"]

NAMES = {"namekeeper": ("rules-network", "rules-signed"), "native": ("rules-network",)}
"""Server -> its rows. The native front knows no users, so signed look-ups are Python's with it, too."""
USER, KEY = "bench", "the key of the bench"
BY_NETWORK = """
mode = "enforce"
[[rule]]
name = "this machine"
requests = ["any"]
networks = ["127.0.0.0/8"]
"""
SIGNED = """
mode = "enforce"
keys = "keys.toml"
[[rule]]
name = "a small office"
requests = ["any"]
networks = ["192.0.2.0/24"]
[[rule]]
name = "who signs"
requests = [105]
users = ["bench"]
[[rule]]
name = "this machine"
requests = ["any"]
networks = ["127.0.0.0/8"]
"""
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "rules-network": (BY_NETWORK, {}),
    "rules-signed": (SIGNED, {"kind": "signed"}),
}
"""Row -> rules, and what is special about its look-ups. For signed ones the network alone would do, too: what
is compared is an answer that depends on the user with one that depends on nothing."""


def run(bench: Bench) -> None:
    """Take the rows in turns with a server without rules, from our name servers alone."""
    for name, keys in NAMES.items():
        wanted = {key: ROWS[key] for key in keys if bench.wants(key)}
        if wanted and name in bench.names:
            _run(bench, name, wanted)


def _run(bench: Bench, name: str, wanted: dict[str, tuple[str, dict[str, Any]]]) -> None:
    signatures = _write_signatures(bench.scratch, bench.scale.topics)
    with contextlib.ExitStack() as opened:
        plain, its_fleet = _started(bench, opened, name)
        servers = {}
        for key, (rules, load) in wanted.items():
            file = _write_rules(bench.scratch / f"{name}-{key}", rules)
            if "kind" in load:
                load["signatures"] = str(signatures)
            servers[key] = (*_started(bench, opened, name, "--access-file", str(file)), load)
            warm_up(bench, servers[key][0], **load)
        for _ in range(bench.scale.rounds):
            for key, (server, fleet, load) in servers.items():
                its_fleet.refresh()
                fleet.refresh()
                bench.record(key, name, _compared(bench, plain, server, load))


def _started(bench: Bench, opened: contextlib.ExitStack, name: str, *options: str) -> tuple[Server, Fleet]:
    server = opened.enter_context(bench.started(name, *options))
    fleet = opened.enter_context(registered(server.port, BASE_BROKERS, base_frames(bench.scale.topics)))
    check_routes(server, bench.scale.topics)
    warm_up(bench, server)
    return server, fleet


def _compared(bench: Bench, plain: Server, server: Server, load: dict[str, Any]) -> Sample:
    """Look-ups without rules, with them, and without again: what the machine does meanwhile meets both."""
    before, found, after = (
        _look_up(bench, one, more) for one, more in ((plain, {}), (server, load), (plain, {}))
    )
    return {**found, "cost": 2 * found["cpu_us"] / (before["cpu_us"] + after["cpu_us"])}


def _look_up(bench: Bench, server: Server, load: dict[str, Any]) -> Sample:
    with Meter(server) as meter:
        found = bench.generator.lookups(
            server.port, seconds=bench.scale.seconds, warmup=bench.scale.warmup, topics=bench.scale.topics,
            connections=16, body_bytes=ROUTE_BYTES, **load,
        ).result()  # fmt: skip
    return {
        "per_second": found["per_second"],
        "p99_ms": found["p99_us"] / 1000,
        "cpu_us": meter.cpu_seconds * 1e6 / max(1, found["answered_total"]),
        "failures": failures(found),
        "foreign": meter.foreign,
    }


def _write_rules(folder: Path, rules: str) -> Path:
    folder.mkdir()
    (folder / "access.toml").write_text(rules)
    (folder / "keys.toml").write_text(f'[users]\n{USER} = "{KEY}"\n')
    (folder / "keys.toml").chmod(0o600)
    return folder / "access.toml"


def _write_signatures(folder: Path, count: int) -> Path:
    """A line for each topic, as the load generator reads them."""
    path = folder / "signatures.txt"
    with path.open("w") as file:
        for index in range(count):
            fields = {"topic": base_topic(index)[0]}
            file.write(sign(fields, b"", access_key=USER, secret_key=KEY)[SIGNATURE] + "\n")
    return path
