"""What a change leaves to forget is forgotten in turns, between other requests."""

from pathlib import Path

import pytest

from namekeeper.processor import forgetting
from namekeeper.wire.codec import encode_command
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.remoting.joined import Joined

TOPICS = tuple(f"T{number}" for number in range(40))


@pytest.mark.parametrize("is_slow", [True, False])
async def test_a_turn_ends_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_slow: bool
):
    monkeypatch.setattr(forgetting, "AT_ONCE", 5)
    monkeypatch.setattr(forgetting, "SLICE", 4)
    parts = Parts(tmp_path)
    connection = Joined(parts.requests, lookup_cache=parts.state.lookup_cache)
    if is_slow:
        parts.tick = 0.001
    connection.deliver(encode_command(registration(TOPICS, version=1)))
    parts.run_turns()
    for topic in TOPICS:
        connection.deliver(frame(105, topic=topic))
    connection.deliver(frame(205, brokerName="broker-a"))
    assert parts.state.lookup_cache.is_distrusted("T0")
    turns = 0
    while parts.turns:
        connection.deliver(frame(105, topic="T39"))
        assert b'"perm":4' in connection.answers[-1].body
        parts.turns.pop(0)()
        turns += 1
    assert not parts.state.lookup_cache.is_distrusted("T0")
    assert (turns > len(TOPICS) / 4 / 2) == is_slow
