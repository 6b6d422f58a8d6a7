"""Between real peers and a name server: which requests come signed, and whether rightly."""

import contextlib
import socket
import threading
from collections import defaultdict
from typing import Self

from namekeeper.access.signature import ACCESS_KEY, AccessKeys, signer_of
from namekeeper.wire.codec import CommandDecoder
from namekeeper.wire.command import RemotingCommand

__all__ = ["UNSIGNED", "WRONG", "SignaturesSeen"]

UNSIGNED, WRONG = "nobody", "somebody with a wrong key"


class SignaturesSeen:
    """Listens on a free port of 127.0.0.1, carries bytes to and from `target`, and notes requests on the way."""

    def __init__(self, target: str, keys: AccessKeys) -> None:
        self._target = target
        self._keys = keys
        self._by_code: defaultdict[int, set[str]] = defaultdict(set)
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets.append(self._listener)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        _end(*self._sockets)
        for each in self._sockets:
            each.close()

    def signers(self) -> dict[int, set[str]]:
        """Code -> who signed requests with it."""
        return dict(self._by_code)

    def codes_of(self, signer: str) -> set[int]:
        """The codes of the requests that somebody signed."""
        return {code for code, signers in self.signers().items() if signer in signers}

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                host, _, port = self._target.rpartition(":")
                server = socket.create_connection((host, int(port)))
                self._sockets += (peer, server)
                threading.Thread(target=self._carry, args=(peer, server, True), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, peer, False), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, notes: bool) -> None:
        decoder = CommandDecoder()
        try:
            while data := source.recv(65_536):
                for request in decoder.feed(data) if notes else ():
                    self._note(request)
                sink.sendall(data)
        except OSError:
            pass  # one of the two has gone
        finally:  # also after a request that can't be read: a peer must not wait for an answer
            _end(source, sink)

    def _note(self, request: RemotingCommand) -> None:
        fields = request.ext_fields or {}
        found = signer_of(fields, request.body, self._keys).user
        self._by_code[request.code].add(found or (WRONG if ACCESS_KEY in fields else UNSIGNED))


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
