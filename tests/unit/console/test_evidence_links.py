"""Words of an explanation lead to what they name."""

from namekeeper.console.evidence_links import broker_words, evidence_links
from tests.unit.console.incident import two_stories

EXPLANATIONS = [
    {
        "summary": "write permission was wiped by ops@10.0.9.1:5000",
        "facts": [{"text": "b0 (a0:1) lost its connection from 10.0.9.2:6000, 5 s after it was last heard"}],
    },
    {"summary": "b1: 4 read and 4 write queues, RW-", "facts": []},
]


def test_brokers_and_peers_are_links_and_other_words_are_not():
    assert evidence_links(EXPLANATIONS, {"b0", "b1", "a0:1"}) == {
        "ops@10.0.9.1:5000": "peer", "b0": "broker", "a0:1": "broker", "10.0.9.2:6000": "peer", "b1": "broker",
    }  # fmt: skip


def test_names_and_addresses_of_all_brokers_are_known():
    assert broker_words(story.history() for story in two_stories()) == {"b0", "b1", "a0:1", "a1:1"}
