"""Keeps answers to look-ups: requests that differ only in `opaque` get answers that differ only in `opaque`.

A client asks for the same topics with the same header for as long as it runs, so most look-ups need no
decoding: the header without the digits of its `opaque` is the key, and the digits are copied into the answer.
A header is learned only after it was decoded in full and answered. From then on everything but the digits is
the same bytes, so the decoder would give the same request.
"""

from collections import deque
from collections.abc import Callable, Collection, KeysView, Mapping

from msgspec import Struct

from namekeeper.lookup_cache.counters import LookupCounter, LookupCounters
from namekeeper.lookup_cache.shared_answers import MAX_DIGITS, SharedAnswers
from namekeeper.lookup_cache.topic_answers import TopicAnswers

__all__ = ["KEYS_FREED", "LookupCache"]

_OPAQUE = b'"opaque":'
_ZERO = ord("0")
_MAX_KEY_BYTES = 1_024
"""A header of a look-up has 200 bytes, 400 with a signature."""

MIN_TURNED_AWAY = 1_000
"""Number of headers refused for lack of room before the cache checks whether the kept ones are still used."""

KEYS_FREED = 8
"""So many keys and bodies of forgotten answers are freed at each change and for each learned header."""
FEW_KEYS = 2
"""An answer that so few headers lead to is freed when it is forgotten."""


class _HeaderAnswer(Struct, gc=False):
    """What all headers are answered with that ask for one topic and get the same body."""

    heads: list[bytes] | None
    """Those of the shared answer; None once the answer is forgotten."""
    tail: bytes
    counter: LookupCounter
    """That of the topic."""
    body: bytes
    keys: list[bytes]
    """Those that lead, or led, to this entry."""
    topic: str


class LookupCache:
    """Header without the digits of its opaque -> the answer around them; touched from the event loop only.

    An answer that was made before the last `forget` is never found: it is not learned. When there is no room
    left, nothing more is learned: clients ask for all their topics in turn, so no header is more worth
    keeping than another. But if the kept headers are used less often than refused ones, because their clients
    are gone, all are forgotten.

    A broker may change a thousand topics in one turn of the loop, and thousands of headers may ask for each.
    So of an answer that is forgotten only the entry is emptied then; if it has more than a few keys, they are
    freed later, a few at a time. If even that takes longer than a turn, the topics are distrusted until their
    answers are forgotten.
    """

    __slots__ = (
        "_bytes",
        "_counters",
        "_distrusted",
        "_entries",
        "_forgotten",
        "_found_before",
        "_handled",
        "_limit",
        "_shared",
        "_topics",
        "_turned_away",
        "revision",
        "topic_answers",
    )

    def __init__(self, limit_bytes: int, *, counts_by_topic: bool = True) -> None:
        """Begin with nothing.

        Args:
            limit_bytes: bounds headers and bodies together.
            counts_by_topic: whether `take_counts` will be called; without it only the total is counted.
        """
        self.revision = 0
        """Number of times that something was forgotten. Read it before an answer is made, and pass it to
        `learn`."""
        self._entries: dict[bytes, _HeaderAnswer] = {}
        self._shared = SharedAnswers()
        self._topics: dict[str, list[_HeaderAnswer]] = {}
        """Topic -> its entries, one for each body."""
        self._forgotten: deque[_HeaderAnswer] = deque()
        """Those that are empty, and whose keys and bytes are not free yet."""
        self._distrusted: list[Callable[[str], bool]] = []
        """Each says of a topic whether the answers that are kept of it may be wrong."""
        self._bytes = 0
        self._limit = limit_bytes
        self._counters = LookupCounters(by_topic=counts_by_topic)
        self._handled = 0
        self.topic_answers = TopicAnswers(limit_bytes, self._counters)
        """What the native front answers; it forgets and counts with this cache."""
        self._turned_away = self._found_before = 0
        """Number of headers refused for lack of room, and `found` when the counting began."""

    def find(self, header: bytes) -> bytes | None:
        """Return the whole answer to a request that has this JSON header and no body, and count the request.

        None if the answer is not known.
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
        return heads[len(digits)] + digits + entry.tail

    def learn(self, header: bytes, opaque: int, *, topic: str, body: bytes, revision: int) -> None:
        """Remember that a request with this header and no body is answered with SUCCESS and `body`.

        Args:
            header: JSON, decoded in full; of a request that wants an answer (flag 0).
            opaque: the request's, as the decoder read it.
            topic: what the request asks for.
            body: the answer's.
            revision: `revision` from before the answer was made; if something was forgotten since, the answer
                is not learned.
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
        """Topics with kept answers."""
        return self._topics.keys()

    def forget(self, topics: Collection[str]) -> None:
        """Forget the answers of topics that something changed for; others among them do no harm."""
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
        """Find no answers of these topics, as if they were forgotten, until they are trusted."""
        self.revision += 1
        self._distrusted.append(contains)

    def trust(self, contains: Callable[[str], bool]) -> None:
        """End a distrust: all answers from before it are forgotten."""
        self._distrusted.remove(contains)

    def is_distrusted(self, topic: str) -> bool:
        """Whether answers that are kept of a topic may be wrong."""
        return bool(self._distrusted) and any(contains(topic) for contains in self._distrusted)

    def forget_all(self) -> None:
        """Forget every answer, and those of the native front."""
        self._forget_entries()
        self.topic_answers.forget_all()

    def close(self) -> None:
        """Forget everything and learn nothing more."""
        self._limit = -1
        self._forget_entries()
        self.topic_answers.close()

    @property
    def found(self) -> int:
        """Look-ups that `find` or the native front answered since the start."""
        self.topic_answers.count()
        return self._counters.total - self._handled

    @property
    def missed(self) -> int:
        """Look-ups that had a route and were answered without the cache since the start."""
        return self._handled

    def count(self, topic: str) -> None:
        """Count a look-up that was answered without the cache."""
        self._counters.of(topic).count += 1
        self._handled += 1

    def take_counts(self) -> Mapping[str, LookupCounter]:
        """Return the look-ups of each topic since the last call, found or not, and reset the counters.

        Forgets everything but what the native front answers, because entries hold the counters that are
        handed out.
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
        """Count a header for which there is no room; after many, check whether the kept headers are used.

        The check is rare, because `found` takes time in proportion to the topics.
        """
        self._turned_away += 1
        if self._turned_away <= max(len(self._entries), len(self._counters), MIN_TURNED_AWAY):
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
        """Free some of the room that forgotten answers still take."""
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
        if self._entries.get(key) is entry:  # else it was learned again
            del self._entries[key]
