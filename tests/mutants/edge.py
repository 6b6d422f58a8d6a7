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
)
