"""What can go wrong in a bench.

BenchError
 +-- ServerError       a server did not start
 +-- GeneratorError    the load generator could not be built or could not do its work
 +-- RefusedError      a server refused a request or closed the connection
 +-- WrongAnswerError  a server answers something else than it must
"""

__all__ = ["BenchError", "GeneratorError", "RefusedError", "ServerError", "WrongAnswerError"]


class BenchError(Exception):
    """The base of all."""


class ServerError(BenchError):
    """A server did not start; carries the end of its output."""


class GeneratorError(BenchError):
    """The load generator could not be built or could not do its work: the server may be gone."""


class RefusedError(BenchError):
    """A server answered with a code other than 0, or closed the connection."""


class WrongAnswerError(BenchError):
    """A server answers something else than it must; its speed says nothing then."""
