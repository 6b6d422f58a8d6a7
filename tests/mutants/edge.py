"""Bugs of the limits at the edge: what a peer may cost in time and memory."""

from tests.mutants.mutant import Mutant

__all__ = ["EDGE_MUTANTS"]

EDGE_MUTANTS = (
    Mutant(
        "idle-connections-shut-operators-out",
        "http/server.py",
        " and not self._close_an_idle_one():",
        ":",
        "connections that ask nothing make room for one that asks",
        ("http/test_server.py",),
    ),
    Mutant(
        "values-of-other-types-at-any-size",
        "wire/fastjson.py",
        "    if len(data) > MAX_COERCED_BYTES:\n        raise DialectError(\n",
        "    if False:\n        raise DialectError(\n",
        "a large body is read strictly, but for bare keys",
        ("wire/test_fastjson.py",),
    ),
    Mutant(
        "text-of-another-encoding-at-any-size",
        "wire/fastjson.py",
        "        if len(data) > MAX_COERCED_BYTES:\n",
        "        if False:\n",
        "a large body is read strictly, but for bare keys",
        ("wire/test_fastjson.py",),
    ),
    Mutant(
        "bare-keys-in-one-go",
        "wire/fastjson.py",
        "        if end < len(data):\n            yield\n",
        "        if False:\n            yield\n",
        "a large body with bare keys is read in slices",
        ("wire/test_fastjson.py",),
    ),
    Mutant(
        "bare-keys-cut-in-two",
        "wire/fastjson.py",
        "begin_of_next.start() if begin_of_next else len(data)",
        "start + _SLICE_BYTES if begin_of_next else len(data)",
        "where the search for bare keys is cut changes nothing",
        ("wire/test_fastjson.py",),
    ),
    Mutant(
        "requests-in-a-row-take-any-time",
        "remoting/connection.py",
        "            elif answers and not self._context.turns.has_time():",
        "            elif False:",
        "what a turn has no time for waits for the next",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "single-requests-take-any-time",
        "remoting/connection.py",
        "                request.code == GET_ROUTEINFO_BY_TOPIC or self._context.turns.has_time()\n",
        "                True\n",
        "what a turn has no time for waits for the next, over all connections",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "look-ups-wait-for-time",
        "remoting/connection.py",
        "                request.code == GET_ROUTEINFO_BY_TOPIC or self._context.turns.has_time()\n",
        "                self._context.turns.has_time()\n",
        "look-ups are served as they come",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "slow-headers-are-read-on-arrival",
        "lookup_cache/reader.py",
        "            return frame\n",
        "            return decode_frame(frame)\n",
        "a header for the slow reader is left to whoever serves it",
        ("lookup_cache/test_reader.py",),
    ),
    Mutant(
        "turns-without-an-end",
        "remoting/turns.py",
        "            if self._clock() >= self._deadline:\n                return\n",
        "",
        "who waits is served as far as each turn has time",
        ("remoting/test_turns.py",),
    ),
    Mutant(
        "a-list-in-one-turn",
        "app/lists.py",
        "            while self._clock() < deadline:",
        "            while True:",
        "a long list takes turns",
        ("app/test_lists.py",),
    ),
    Mutant(
        "a-list-for-each-who-asks",
        "app/lists.py",
        "        if key in self._waiting:",
        "        if False:",
        "who waits for the same list shares it",
        ("app/test_lists.py",),
    ),
)
