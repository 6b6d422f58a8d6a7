"""A large registration: CPU time of the broker that writes it, and of the name server that reads it."""

import statistics
import time
from collections.abc import Callable, Generator
from typing import Any

from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import OUR_VERSION

__all__ = ["encoding_rows"]

Row = tuple[str, str, str]


def encoding_rows(topics: int, rounds: int) -> list[Row]:
    """Return a row for each form; writing and reading take turns, so that noise meets both."""
    configs = tuple(TopicConfig(f"topic-of-some-team-{number:06d}", 4, 4) for number in range(topics))
    body = RegisterBrokerBody(DataVersion(1, 0, 1_700_000_000_000), configs)
    return [_row(body, rounds, compressed=compressed) for compressed in (False, True)]


def _row(body: RegisterBrokerBody, rounds: int, *, compressed: bool) -> Row:
    data = encode_registration_body(body, compressed=compressed)
    taken = [
        (
            _ms(lambda: encode_registration_body(body, compressed=compressed)),
            _ms(lambda: _finish(decode_registration_body(data, version=OUR_VERSION, compressed=compressed))),
        )
        for _ in range(rounds)
    ]
    written, read = (statistics.median(column) for column in zip(*taken, strict=True))
    form = "compressed" if compressed else "JSON"
    promised = "" if compressed else f"at most what reading takes: {'met' if written <= read else 'NOT MET'}"
    what = f"registration of {len(body.topics):,} topics, {form}, {len(data) / 1e6:.1f} MB"
    return what, f"written in {written:.0f} ms, read in {read:.0f} ms", promised


def _ms(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1000


def _finish(work: Generator[None, None, Any]) -> None:
    for _ in work:
        pass
