"""Bugs of the limits that many connections share."""

from tests.mutants.mutant import Mutant

__all__ = ["CROWD_MUTANTS"]

CROWD_MUTANTS = (
    Mutant(
        "a-turn-for-each-connection",
        "remoting/turns.py",
        "self._peers.setdefault(peer, deque())",
        'self._peers.setdefault(("", False), deque())',
        "peers take turns, however many connections one has",
        ("remoting/test_turns.py",),
    ),
    Mutant(
        "turns-know-no-brokers",
        "remoting/connection.py",
        "peer = self.channel.host, self.has_broker",
        "peer = self.channel.host, False",
        "a broker does not wait for all the strangers behind its address",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "requests-held-without-a-total",
        "remoting/unserved.py",
        "        while self.bytes > self._limit:\n",
        "        while False:\n",
        "what all connections hold together has a limit",
        ("remoting/test_unserved.py",),
    ),
    Mutant(
        "brokers-go-first",
        "remoting/unserved.py",
        "if not holder.has_broker), first[0])",
        "), first[0])",
        "who has a broker is disconnected last",
        ("remoting/test_unserved.py",),
    ),
    Mutant(
        "whoever-comes-goes",
        "remoting/unserved.py",
        "max(self._hosts.items(), key=lambda each: each[1].bytes)",
        "host, peer",
        "those of the host that holds most are disconnected",
        ("remoting/test_unserved.py",),
    ),
    Mutant(
        "half-a-frame-is-free",
        "remoting/connection.py",
        "            held += self._frames.buffered\n",
        "            pass\n",
        "a part of a frame counts until the rest comes",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "what-is-owed-is-free",
        "remoting/owed.py",
        "        self.bytes += size\n",
        "",
        "requests whose answers come later count with their bytes",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "what-is-served-still-counts",
        "remoting/connection.py",
        "        if self._owed.bytes or self._queue or self._held_bytes:\n",
        "        if self._owed.bytes or self._queue:\n",
        "what was held counts no more when it is served",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "tight-means-nothing",
        "remoting/owed.py",
        "(is_tight or len(sizes)",
        "(len(sizes)",
        "when it is tight, who waits for an answer is not read from",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "cluster-information-in-one-go",
        "messages/bodies.py",
        "for name in names[start : start + SLICE_NAMES]\n        )\n        yield\n",
        "for name in names[start : start + SLICE_NAMES]\n        )\n",
        "the answer to 106 is written in slices",
        ("messages/test_bodies.py",),
    ),
    Mutant(
        "one-form-of-json-for-all",
        "app/requests.py",
        "key = (request.code, cluster, wants_standard_json(request.version))",
        "key = (request.code, cluster, True)",
        "who reads another form of JSON shares no answer",
        ("app/test_requests.py",),
    ),
)
