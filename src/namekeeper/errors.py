"""Every exception that namekeeper raises on purpose.

NamekeeperError
├── ProtocolError          bytes that break the remoting protocol; the connection is closed
├── RequestError           a well-formed request that can't be served; carries the response's code and remark
├── ConfigError            configuration, a file or a flag that can't be used; the message says what to do
├── JournalError           a folder that can't be used as a journal; the message says what to do
├── RouteDataError         a route, as a name server answered it, that can't be turned into queues
├── TopicNameError         a topic name that RocketMQ forbids
├── NoRouteError           a topic that has no route, or none of the kind that is needed
├── AllocationError        queues can't be shared out among these consumers
└── RemotingError          our own request to a peer failed
    ├── RemotingConnectError    no connection could be made
    ├── RemotingTimeoutError    no answer in time
    ├── RemotingClosedError     the connection went away while waiting for the answer
    ├── NoNameServerError       none of the name servers could answer; carries the failure of each
    └── ResponseError           the peer answered with a code other than SUCCESS
"""

__all__ = [
    "AllocationError",
    "ConfigError",
    "JournalError",
    "NamekeeperError",
    "NoNameServerError",
    "NoRouteError",
    "ProtocolError",
    "RemotingClosedError",
    "RemotingConnectError",
    "RemotingError",
    "RemotingTimeoutError",
    "RequestError",
    "ResponseError",
    "RouteDataError",
    "TopicNameError",
]


class NamekeeperError(Exception):
    """Base class of everything raised on purpose; can be pickled for other processes."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class ProtocolError(NamekeeperError):
    """A peer sent bytes that can't be a frame; the connection has to be closed."""


class RequestError(NamekeeperError):
    """A request that can't be served; answered with `code` and `remark`."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(f"code {code}: {remark}")
        self.code = code
        self.remark = remark


class ConfigError(NamekeeperError):
    """Configuration that can't be used; the message names the property or file, and what to do."""


class RouteDataError(NamekeeperError):
    """The route of `topic` can't be turned into queues; the message names the part that is wrong."""

    def __init__(self, topic: str, message: str) -> None:
        super().__init__(f"route of topic {topic!r}: {message}")
        self.topic = topic


class NoRouteError(NamekeeperError):
    """Nothing can be sent to or read from `topic`; the message says why, and what to do."""

    def __init__(self, topic: str, message: str) -> None:
        super().__init__(f"No route info of this topic: {topic}: {message}")
        self.topic = topic


class TopicNameError(NamekeeperError):
    """A topic name that RocketMQ forbids; the message says what is allowed."""

    def __init__(self, topic: str, message: str) -> None:
        super().__init__(f"topic {topic!r}: {message}")
        self.topic = topic


class AllocationError(NamekeeperError):
    """Queues can't be shared out: an argument is empty, or a machine room is unknown."""


class JournalError(NamekeeperError):
    """A folder that can't be used as a journal; the message names it and what to do."""


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


class NoNameServerError(RemotingError):
    """None of the name servers could answer; `failures` has the reason of each, by its address."""

    def __init__(self, failures: dict[str, RemotingError]) -> None:
        reasons = "; ".join(str(error) for error in failures.values()) or "none was asked in time"
        super().__init__(";".join(failures) or "no name server", f"no name server answered: {reasons}")
        self.failures = failures


class ResponseError(RemotingError):
    """The peer answered with a code other than SUCCESS."""

    def __init__(self, addr: str, code: int, remark: str | None) -> None:
        super().__init__(addr, f"code {code}: {remark or 'no remark'}")
        self.code = code
        self.remark = remark


def _restore(
    kind: type[NamekeeperError], args: tuple[object, ...], attributes: dict[str, object]
) -> NamekeeperError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error
