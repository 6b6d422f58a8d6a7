"""A connection as the tables see it: what fencing and expiry ask of it (docs/decisions/0002, 0015)."""

import pytest

from namekeeper.route import channel as channel_module
from namekeeper.route.channel import Channel

BROKER = ("c", "10.0.0.1:10911")


def test_a_new_connection_is_open_and_read_from():
    channel = Channel(7, "10.9.0.7:5000")
    assert (channel.is_open, channel.is_paused, channel.carried) == (True, False, {})
    assert repr(channel) == "Channel(7, 10.9.0.7:5000)"


def test_it_remembers_when_it_first_spoke_for_a_broker():
    channel = Channel(1, "peer")
    channel.note_carried(BROKER, gen=3)
    channel.note_carried(BROKER, gen=9)
    assert channel.carried == {BROKER: 3}


@pytest.mark.parametrize("count", [3, 50])
def test_a_peer_can_not_make_it_grow(monkeypatch, count):
    monkeypatch.setattr(channel_module, "MAX_CARRIED_BYTES", 2 * (channel_module.ENTRY_BYTES + 4))
    channel = Channel(1, "peer")
    for number in range(count):
        channel.note_carried(("c", str(number)), gen=number)
    assert channel.carried == {("c", str(count - 2)): count - 2, ("c", str(count - 1)): count - 1}


def test_a_long_name_costs_the_place_of_many():
    channel = Channel(1, "peer")
    channel.note_carried(BROKER, gen=1)
    channel.note_carried(("c" * channel_module.MAX_CARRIED_BYTES, "a"), gen=2)
    assert channel.carried == {}
    channel.note_carried(BROKER, gen=3)
    assert channel.carried == {BROKER: 3}
