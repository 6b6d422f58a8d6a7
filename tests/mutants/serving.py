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
        "find = None if body else self._find",
        "find = self._find",
        "a request with a body is never looked for",
        ("lookup_cache/test_reader.py",),
    ),
    Mutant(
        "cache-looks-inside-a-body",
        "lookup_cache/reader.py",
        "if find is None or self.frames.buffered:",
        "if find is None:",
        "bytes in the middle of a frame are never taken for a frame",
        ("lookup_cache/test_reader.py",),
    ),
    Mutant(
        "zero-closes-everybody",
        "remoting/server.py",
        "        if not self._idle_seconds:\n            return\n",
        "",
        "serverChannelMaxIdleTimeSeconds=0 closes nobody",
        ("remoting/test_server.py",),
    ),
    Mutant(
        "one-limit-for-all-lines",
        "remoting/log_limit.py",
        "kind = (level, message, type(error) if error is not None else None)",
        'kind = (level, "", None)',
        "a flood of one kind of line never silences another",
        ("remoting/test_log_limit.py",),
    ),
    Mutant(
        "socket-buffers-forgotten",
        "app/name_server.py",
        "                settings.server_socket_snd_buf_size,\n",
        "                0,\n",
        "serverSocketSndBufSize is the size of each socket's send buffer",
        ("app/test_name_server.py",),
    ),
    Mutant(
        "one-water-mark-is-enough",
        "app/name_server.py",
        "if low and high else",
        "if low or high else",
        "as in Java, water marks count only if both are set",
        ("app/test_name_server.py",),
    ),
    Mutant(
        "odd-ext-field-closes",
        "wire/json_header.py",
        "        return _encode(text).decode()\n",
        '        raise ProtocolError("bad header: not a string")\n',
        "an object in an ext field is read as its text, as in Java",
        ("wire/test_json_header.py",),
    ),
)
