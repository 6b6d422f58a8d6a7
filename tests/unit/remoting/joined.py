"""A server connection joined to a transport in memory, and frames for it."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import (
    Answering,
    ConnectionContext,
    ConnectionHooks,
    ConnectionLimits,
    Handler,
)
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.channel import Channel
from namekeeper.wire.codec import CommandDecoder, encode_command
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.wire.transport import MemoryTransport

__all__ = ["Joined", "decoded", "echo", "frame"]

G = TypeVar("G", bound=Struct)


def frame(
    opaque: int = 1, *, code: int = 105, body: bytes = b"", oneway: bool = False, flag: int | None = None,
    **fields: str,
) -> bytes:  # fmt: skip
    command = request(code, {"topic": "T", **fields}, body, opaque=opaque, oneway=oneway)
    if flag is not None:
        command.flag = flag
    return encode_command(command)


def decoded(stream: bytes) -> list[RemotingCommand]:
    decoder = CommandDecoder()
    commands = decoder.feed(stream)
    assert not decoder.frames.failure
    assert not decoder.frames.buffered
    return commands


def echo(request: RemotingCommand, _connection: ServerConnection) -> Response:
    return Response(body=request.body)


class Joined:
    """A connection, its transport, and what it told the application."""

    def __init__(
        self,
        handler: Handler | Callable[..., Response | None] = echo,
        *,
        budget: BodyBudget | None = None,
        context: ConnectionContext | None = None,
        scheduler: Scheduler | None = None,
        **settings: object,
    ) -> None:
        """Begin; without `scheduler` every iteration has time for everything."""
        self.closed: list[Channel] = []
        self.connected: list[Channel] = []
        settings |= {"on_connect": self.connected.append, "on_close": self.closed.append}

        def group(of: type[G]) -> G:
            return of(**{name: settings.pop(name) for name in of.__struct_fields__ if name in settings})

        self.context = context or ConnectionContext(
            handler=handler,
            budget=budget or BodyBudget(1 << 28),
            limits=group(ConnectionLimits),
            answering=group(Answering),
            hooks=group(ConnectionHooks),
            scheduler=scheduler or Scheduler(clock=lambda: 1.0),
            **settings,  # type: ignore[arg-type]
        )
        self.channel = Channel(1, "192.0.2.1:5")
        self.connection = self.make(self.context)
        self.transport = MemoryTransport(self.connection)

    def make(self, context: ConnectionContext) -> ServerConnection:
        return ServerConnection(self.channel, context)

    def deliver(self, data: bytes) -> None:
        self.transport.deliver(data)

    def deliver_frames(self, frames: list[bytes], *, at_once: bool) -> None:
        """Let requests arrive in one read, or each in its own."""
        for data in [b"".join(frames)] if at_once else frames:
            self.deliver(data)

    @property
    def answers(self) -> list[RemotingCommand]:
        return decoded(self.transport.written)

    @property
    def answered(self) -> list[int]:
        return [answer.opaque for answer in self.answers]
