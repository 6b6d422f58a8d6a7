"""Bugs of the look-up cache and of what stands between a socket and a request."""

from tests.mutants.mutant import Mutant

__all__ = ["SERVING_MUTANTS"]

SERVING_MUTANTS = (
    Mutant(
        "cache-learns-what-is-old",
        "lookup_cache/cache.py",
        "if revision != self.revision or not comma",
        "if not comma",
        "an answer that was made before something was forgotten is not learned",
        ("lookup_cache/test_cache.py",),
    ),
    Mutant(
        "cache-believes-any-digits",
        "lookup_cache/cache.py",
        ' or digits != b"%d" % opaque:',
        ":",
        "a header is learned only if its digits are the opaque that was decoded",
        ("lookup_cache/test_cache.py",),
    ),
    Mutant(
        "cache-forgets-a-topic-and-keeps-its-bytes",
        "lookup_cache/cache.py",
        "            self._bytes -= _envelope_bytes(body)\n",
        "",
        "topics that are forgotten one by one leave their room to others",
        ("lookup_cache/test_cache.py",),
    ),
    Mutant(
        "cache-answers-requests-with-a-body",
        "lookup_cache/reader.py",
        "if find is None or body or form:",
        "if find is None or form:",
        "a request with a body is never looked for",
        ("lookup_cache/test_reader.py",),
    ),
    Mutant(
        "cache-looks-inside-a-body",
        "lookup_cache/reader.py",
        "find(data[_PREFIX_BYTES:]) if not self.frames.buffered else None",
        "find(data[_PREFIX_BYTES:])",
        "bytes in the middle of a frame are never taken for a frame",
        ("lookup_cache/test_reader.py",),
    ),
)
