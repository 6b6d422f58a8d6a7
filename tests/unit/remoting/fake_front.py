"""A front in memory: what is lent to it, and what it is told, in the hands of the test."""

import contextlib
import socket

__all__ = ["FakeNative", "FakeStore"]


class FakeStore:
    """Knows what it was told."""

    def __init__(self) -> None:
        self.learned: dict[tuple[str, bool], tuple[int, bytes]] = {}
        self.asked: set[tuple[str, bool]] = set()
        """Topic and form of what was looked up since it was learned."""
        self.counts: dict[int, int] = {}
        self.is_paused = False

    def look_up(self, topic: str, *, standard: bool) -> bytes | None:
        """What a peer is answered."""
        found = self.learned.get((topic, standard))
        if found is None or self.is_paused:
            return None
        number, body = found
        self.asked.add((topic, standard))
        self.counts[number] = self.counts.get(number, 0) + 1
        return body

    # What the server calls.

    def learn(self, topic: str, standard: bool, counter: int, body: bytes) -> None:
        self.learned[topic, standard] = (counter, body)

    def forget(self, topics: list[str]) -> bytes:
        forms = [{(topic, False), (topic, True)} for topic in topics]
        asked = bytes(bool(each & self.asked) for each in forms)
        for each in set().union(*forms):
            self.learned.pop(each, None)
            self.asked.discard(each)
        return asked

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def forget_all(self) -> None:
        self.learned.clear()
        self.asked.clear()

    def take_counts(self) -> list[tuple[int, int]]:
        counts, self.counts = self.counts, {}
        return list(counts.items())


class FakeNative(FakeStore):
    """Serves nothing by itself; its sockets are closed when it was stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.lent: dict[int, int] = {}
        """Loan -> descriptor."""
        self.is_full = False
        self.is_stopped = False
        self.moved: list[tuple[int, int, int]] = []
        self._returned: list[tuple[int, bytes, bytes, int, int, bool]] = []
        self._notices, self._notice = socket.socketpair()
        self._notices.setblocking(False)
        self._notice.setblocking(False)

    def give_back(
        self, loan: int, unread: bytes = b"", unsent: bytes = b"", *, bytes_in: int = 0, bytes_out: int = 0,
        is_broken: bool = False,
    ) -> None:  # fmt: skip
        """End a loan, as a peer makes it."""
        del self.lent[loan]
        self._returned.append((loan, unread, unsent, bytes_in, bytes_out, is_broken))
        self._notice.send(b"1")

    # What the server calls.

    def fileno(self) -> int:
        return self._notices.fileno()

    def lend(self, loan: int, descriptor: int) -> None:
        if self.is_full:
            raise OSError(24, "Too many open files")
        self.lent[loan] = descriptor

    def take_back(self, loan: int) -> tuple[int, bytes, bytes, int, int, bool] | None:
        for found in self._returned:
            if found[0] == loan:
                self._returned.remove(found)
                return found
        return (loan, b"", b"", 0, 0, False) if self.lent.pop(loan, None) else None

    def take_returned(self) -> list[tuple[int, bytes, bytes, int, int, bool]]:
        if not self.is_stopped:
            with contextlib.suppress(BlockingIOError):
                self._notices.recv(1_000)
        returned, self._returned = self._returned, []
        return returned

    def take_moved(self) -> list[tuple[int, int, int]]:
        moved, self.moved = self.moved, []
        return moved

    def panics(self) -> int:
        return 0

    def stop(self) -> None:
        for loan in list(self.lent):
            self.give_back(loan)
        self.is_stopped = True
        self._notices.close()
        self._notice.close()
