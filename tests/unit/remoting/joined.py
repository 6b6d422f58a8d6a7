"""A server connection joined to a transport in memory, and frames for it."""

from collections.abc import Callable

from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext, Handler
from namekeeper.remoting.turns import Turns
from namekeeper.route.channel import Channel
from namekeeper.wire.codec import CommandDecoder, encode_command
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.wire.transport import MemoryTransport

__all__ = ["Joined", "decoded", "echo", "frame"]


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
        turns: Turns | None = None,
        **settings: object,
    ) -> None:
        """Begin; without `turns` every turn has time for everything."""
        self.closed: list[Channel] = []
        self.connected: list[Channel] = []
        self.context = context or ConnectionContext(
            handler=handler, max_frame_bytes=1 << 24, budget=budget or BodyBudget(1 << 28),
            turns=turns or Turns(clock=lambda: 0.0), on_connect=self.connected.append, on_close=self.closed.append, **settings,  # type: ignore[arg-type]
        )  # fmt: skip
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
