"""Every exception that namekeeper raises on purpose.

NamekeeperError
├── ProtocolError          bytes that break the remoting protocol; the connection is closed
├── RequestError           a well-formed request that can't be served; carries the response's code and remark
├── ConfigError            configuration, a file or a flag that can't be used; says what to do about it
└── RemotingError          our own request to a peer failed
    ├── RemotingConnectError    no connection could be made
    ├── RemotingTimeoutError    no answer in time
    ├── RemotingClosedError     the connection went away while waiting for the answer
    └── ResponseError           the peer answered with a code other than SUCCESS
"""

__all__ = [
    "ConfigError",
    "NamekeeperError",
    "ProtocolError",
    "RemotingClosedError",
    "RemotingConnectError",
    "RemotingError",
    "RemotingTimeoutError",
    "RequestError",
    "ResponseError",
]


class NamekeeperError(Exception):
    """Root of everything raised on purpose."""


class ProtocolError(NamekeeperError):
    """A peer sent bytes that can't be a frame; nothing but closing the connection is left."""


class RequestError(NamekeeperError):
    """A request that can't be served; answered with `code` and `remark`."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(f"code {code}: {remark}")
        self.code = code
        self.remark = remark


class ConfigError(NamekeeperError):
    """Configuration that can't be used; the message names the place and what to do."""


class RemotingError(NamekeeperError):
    """A request of ours to `addr` failed."""

    def __init__(self, addr: str, message: str) -> None:
        super().__init__(f"{addr}: {message}")
        self.addr = addr


class RemotingConnectError(RemotingError):
    """No connection to the peer could be made."""


class RemotingTimeoutError(RemotingError):
    """The peer did not answer within the deadline."""


class RemotingClosedError(RemotingError):
    """The connection went away before the answer came."""


class ResponseError(RemotingError):
    """The peer answered with a code other than SUCCESS."""

    def __init__(self, addr: str, code: int, remark: str | None) -> None:
        super().__init__(addr, f"code {code}: {remark or 'no remark'}")
        self.code = code
        self.remark = remark
