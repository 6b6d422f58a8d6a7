"""Caches lookup answers: requests that differ only in `opaque` get answers that differ only in `opaque`.

A client looks up the same topics with the same header for as long as it runs, so most lookups need no
decoding. The header without the digits of its `opaque` is the key, and the cache copies the digits into the
answer. The cache takes a header only after the server decoded it in full and answered. From then on all bytes
but the digits are equal, so the decoder would return the same request.
"""

from collections import deque
from collections.abc import Callable, Collection, KeysView, Mapping
from struct import Struct as Format

from msgspec import Struct

from namekeeper.lookup_cache.counters import LookupCounter, LookupCounters
from namekeeper.lookup_cache.topic_answers import TopicAnswers
from namekeeper.wire.codec import BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL

__all__ = ["KEYS_FREED", "MAX_DIGITS", "LookupCache", "SharedAnswer", "SharedAnswers"]

_OPAQUE = b'"opaque":'
_ZERO = ord("0")
_MAX_KEY_BYTES = 1_024
"""A header of a lookup has 200 bytes, 400 with a signature."""

MIN_TURNED_AWAY = 1_000
"""Number of headers refused for lack of room before the cache checks whether clients still use the cached
ones."""

KEYS_FREED = 8
"""Number of keys and bodies of invalidated answers freed at each change and for each added header."""
FEW_KEYS = 2
"""Invalidation frees an answer at once if at most this many headers lead to it."""


MAX_DIGITS = 9
"""Most digits of an `opaque`. A longer one may not be an int32, so the server decodes such a request."""

_PREFIX = Format(">II").pack


class SharedAnswer(Struct, gc=False):
    """An answer with SUCCESS, without the digits of its opaque."""

    heads: list[bytes]
    """Bytes before the digits, by the number of digits."""
    tail: bytes
    users: int = 0
    """Number of entries that share it."""


class SharedAnswers:
    """Body -> the answer with it, as long as an entry has it: topics with the same route share one."""

    __slots__ = ("_by_body",)

    def __init__(self) -> None:
        self._by_body: dict[bytes, SharedAnswer] = {}

    def lacking_bytes(self, body: bytes) -> int:
        """Approximate size of the answer with this body, in bytes; 0 if an entry has it."""
        return 0 if body in self._by_body else _size_of(body)

    def take(self, body: bytes) -> SharedAnswer:
        """The answer with this body, which has one more user now."""
        shared = self._by_body.get(body)
        if shared is None:
            shared = self._by_body[body] = _made(body)
        shared.users += 1
        return shared

    def drop(self, body: bytes) -> int:
        """Remove one user; return the number of bytes that this freed."""
        shared = self._by_body[body]
        shared.users -= 1
        if shared.users:
            return 0
        del self._by_body[body]
        return _size_of(body)


def _size_of(body: bytes) -> int:
    return len(body) + len(BARE_SUCCESS_TAIL) + (MAX_DIGITS + 1) * len(BARE_SUCCESS_HEAD)


def _made(body: bytes) -> SharedAnswer:
    fixed = len(BARE_SUCCESS_HEAD) + len(BARE_SUCCESS_TAIL)
    heads = [
        _PREFIX(4 + fixed + digits + len(body), fixed + digits) + BARE_SUCCESS_HEAD
        for digits in range(MAX_DIGITS + 1)
    ]
    return SharedAnswer(heads, BARE_SUCCESS_TAIL + body)


class _HeaderAnswer(Struct, gc=False):
    """The answer to all headers that ask for one topic and get the same body."""

    heads: list[bytes] | None
    """`heads` of the shared answer; None once the answer is invalidated."""
    tail: bytes
    counter: LookupCounter
    """The counter of the topic."""
    body: bytes
    keys: list[bytes]
    """Keys that lead, or led, to this entry."""
    topic: str


class LookupCache:
    """Header without the digits of its opaque -> the answer around them; touched from the event loop only.

    A lookup never finds an answer that was made before the last `forget`: the cache does not add it. Without
    room the cache adds nothing more: clients ask for all their topics in turn, so all headers are worth the
    same. But if clients use the cached headers less often than refused ones, because their clients are gone,
    the cache drops all.

    A broker may change a thousand topics in one event-loop iteration, and thousands of headers may ask for
    each. So an invalidation only empties the entry. If the entry has more than a few keys, the cache frees
    them later, a few at a time. If even that takes longer than an iteration, the topics are marked invalid
    until their answers are gone.
    """

    __slots__ = (
        "_bytes",
        "_counters",
        "_distrusted",
        "_entries",
        "_forgotten",
        "_found_before",
        "_handled",
        "_hits",
        "_limit",
        "_shared",
        "_topics",
        "_turned_away",
        "revision",
        "topic_answers",
    )

    def __init__(self, limit_bytes: int, *, counts_by_topic: bool = True) -> None:
        """Start empty.

        Args:
            limit_bytes: bounds headers and bodies together.
            counts_by_topic: whether `take_counts` will be called; without it topics share a counter.
        """
        self.revision = 0
        """Number of invalidations. Read it before the server makes an answer, and pass it to `learn`."""
        self._entries: dict[bytes, _HeaderAnswer] = {}
        self._shared = SharedAnswers()
        self._topics: dict[str, list[_HeaderAnswer]] = {}
        """Topic -> its entries, one for each body."""
        self._forgotten: deque[_HeaderAnswer] = deque()
        """Empty entries whose keys and bytes are not free yet."""
        self._distrusted: list[Callable[[str], bool]] = []
        """Each returns whether the cached answers of a topic may be incorrect."""
        self._bytes = 0
        self._limit = limit_bytes
        self._counters = LookupCounters(by_topic=counts_by_topic)
        self._hits = self._handled = 0
        """Lookups that `find` answered, and those that had a route and missed."""
        self.topic_answers = TopicAnswers(limit_bytes, self._counters)
        """The answers of the native fast path; they are invalidated and counted with this cache."""
        self._turned_away = self._found_before = 0
        """Number of headers refused for lack of room, and `found` when the counting started."""

    def find(self, header: bytes) -> bytes | None:
        """Return the complete answer to a request with this JSON header and no body, and count the request.

        None is a miss.
        """
        entries = self._entries
        if not entries:
            return None
        before, word, rest = header.partition(_OPAQUE)
        digits, _, after = rest.partition(b",")
        entry = entries.get(before + word + after)
        if entry is None or not digits.isdigit() or digits[0] == _ZERO or len(digits) > MAX_DIGITS:
            return None
        heads = entry.heads
        if heads is None or (self._distrusted and self.is_distrusted(entry.topic)):
            return None
        entry.counter.count += 1
        self._hits += 1  # beside the counters of topics: there may be 180,000 of them
        return heads[len(digits)] + digits + entry.tail

    def learn(self, header: bytes, opaque: int, *, topic: str, body: bytes, revision: int) -> None:
        """Cache the answer SUCCESS with `body` to a request with this header and no body.

        Args:
            header: JSON, decoded in full; of a request that wants an answer (flag 0).
            opaque: the request's, as the decoder read it.
            topic: the topic of the lookup.
            body: the answer's.
            revision: `revision` from before the answer was made; after a later invalidation the cache does
                not add the answer.
        """
        if self._limit <= 0:
            return
        before, word, rest = header.partition(_OPAQUE)
        digits, comma, after = rest.partition(b",")
        if revision != self.revision or not comma or _OPAQUE in after or digits != b"%d" % opaque:
            return
        key = before + word + after
        known = self._entries.get(key)
        if len(key) > _MAX_KEY_BYTES or (known is not None and known.heads is not None):
            return
        self._free_forgotten()
        size = len(key) + self._shared.lacking_bytes(body)
        if self._bytes + size > self._limit:
            self._turn_away()
            return
        self._bytes += size
        entry = self._entry(topic, body)
        entry.keys.append(key)
        self._entries[key] = entry

    @property
    def topics(self) -> KeysView[str]:
        """Topics with cached answers."""
        return self._topics.keys()

    def forget(self, topics: Collection[str]) -> None:
        """Invalidate the answers of changed topics; other topics among them do no harm."""
        self.revision += 1
        for topic in topics:
            for entry in self._topics.pop(topic, ()):
                entry.heads = None
                if len(entry.keys) > FEW_KEYS:
                    self._forgotten.append(entry)
                    continue
                for key in entry.keys:
                    self._free_key(key, entry)
                self._bytes -= self._shared.drop(entry.body)
        self._free_forgotten()

    def distrust(self, contains: Callable[[str], bool]) -> None:
        """Mark topics invalid: until `trust`, lookups of them miss."""
        self.revision += 1
        self._distrusted.append(contains)

    def trust(self, contains: Callable[[str], bool]) -> None:
        """Remove a mark; all answers from before it must be gone."""
        self._distrusted.remove(contains)

    def is_distrusted(self, topic: str) -> bool:
        """Whether cached answers of a topic may be incorrect."""
        return bool(self._distrusted) and any(contains(topic) for contains in self._distrusted)

    def forget_all(self) -> None:
        """Drop every answer, also those of the native fast path."""
        self._forget_entries()
        self.topic_answers.forget_all()

    def close(self) -> None:
        """Drop every answer and add nothing more."""
        self._limit = -1
        self._forget_entries()
        self.topic_answers.close()

    @property
    def found(self) -> int:
        """Lookups that `find` or the native fast path answered since the start."""
        self.topic_answers.count()
        return self._hits + self.topic_answers.found

    @property
    def missed(self) -> int:
        """Lookups that had a route and missed the cache, since the start."""
        return self._handled

    def count(self, topic: str) -> None:
        """Count a lookup that missed the cache."""
        self._counters.of(topic).count += 1
        self._handled += 1

    def take_counts(self) -> Mapping[str, LookupCounter]:
        """Return the lookups of each topic since the last call, hits and misses, and reset the counters.

        Drops everything but the answers of the native fast path, because entries hold the counters that the
        caller gets.
        """
        self._forget_entries()
        self.topic_answers.count()
        return self._counters.take()

    def _forget_entries(self) -> None:
        self.revision += 1
        self._entries = {}
        self._shared = SharedAnswers()
        self._topics = {}
        self._forgotten = deque()
        self._bytes = 0

    def _turn_away(self) -> None:
        """Count a header without room; after many, check whether clients use the cached headers."""
        self._turned_away += 1
        if self._turned_away <= max(len(self._entries), MIN_TURNED_AWAY):
            return
        found = self.found
        if found - self._found_before < self._turned_away:
            self.forget_all()
        self._turned_away, self._found_before = 0, found

    def _entry(self, topic: str, body: bytes) -> _HeaderAnswer:
        """The entry of a topic for a body; a new one if it has none."""
        entries = self._topics.setdefault(topic, [])
        for entry in entries:
            if entry.body == body:
                return entry
        shared = self._shared.take(body)
        entry = _HeaderAnswer(shared.heads, shared.tail, self._counters.of(topic), body, [], topic)
        entries.append(entry)
        return entry

    def _free_forgotten(self) -> None:
        """Free some of the room that invalidated answers still take."""
        for _ in range(KEYS_FREED):
            if not self._forgotten:
                return
            entry = self._forgotten[0]
            if entry.keys:
                self._free_key(entry.keys.pop(), entry)
            else:
                self._forgotten.popleft()
                self._bytes -= self._shared.drop(entry.body)

    def _free_key(self, key: bytes, entry: _HeaderAnswer) -> None:
        self._bytes -= len(key)
        if self._entries.get(key) is entry:  # else it was added again
            del self._entries[key]
