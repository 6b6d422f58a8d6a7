"""TLS connections have a limit by memory; the host with the most of it loses connections."""

from namekeeper.remoting.tls_memory import TlsMemory, estimated_bytes
from tests.unit.remoting.test_unserved import Holding


class Filled:
    """A memory with connections, each named after its host: `a1` is of the host `a`."""

    def __init__(self, limit: int) -> None:
        self.memory = TlsMemory(limit)
        self.held: dict[str, Holding] = {}

    def keep(self, name: str, size: int = 1, *, has_broker: bool = False) -> list[str]:
        """Have a connection keep bytes; return the names of those that are closed."""
        holder = self.held.setdefault(name, Holding(has_broker=has_broker))
        self.memory.keep(holder, name[0], size)
        return [name for name, each in self.held.items() if each.is_aborted]

    def let_go(self, name: str) -> None:
        """Close a connection."""
        self.memory.let_go(self.held[name], name[0])


def test_memory_adds_up_and_is_given_back() -> None:
    filled = Filled(10)
    filled.keep("a1")
    filled.keep("a1", 4)
    filled.keep("b1", 5)
    assert filled.memory.bytes == 9
    for name in ("a1", "a1", "b1"):
        filled.let_go(name)
    memory = filled.memory
    assert (memory.bytes, memory._hosts, memory._large, memory.closes) == (0, {}, {}, 0)


def test_a_host_with_too_many_connections_keeps_those_that_it_has() -> None:
    filled = Filled(3)
    for name in ("a1", "a2", "a3"):
        assert filled.keep(name) == []
    assert filled.keep("a4") == ["a4"]
    assert (filled.memory.bytes, filled.memory.closes) == (3, 1)


def test_another_host_takes_a_place_of_the_host_with_the_most() -> None:
    filled = Filled(3)
    for name in ("a1", "a2", "a3"):
        filled.keep(name)
    assert filled.keep("b1") == ["a1"]
    assert filled.keep("b2") == ["a1", "b2"]


def test_a_fleet_of_hosts_with_few_connections_each_loses_none() -> None:
    filled = Filled(16)
    for host in "abcdefghi":
        assert filled.keep(f"{host}1", 2) == []
    assert filled.keep("a2") == ["a2"]
    assert filled.memory.bytes == 18


def test_a_connection_that_grows_is_closed_unless_a_broker_is_registered_over_it() -> None:
    filled = Filled(4)
    filled.keep("a1", has_broker=True)
    filled.keep("a2")
    filled.keep("a3")
    assert filled.keep("a3", 3) == ["a3"]
    filled.keep("a4")
    assert filled.keep("a1", 3) == ["a2", "a3"]


def test_one_connection_that_exceeds_the_limit_is_closed() -> None:
    filled = Filled(4)
    assert filled.keep("a1", 5) == ["a1"]
    assert filled.memory.bytes == 0


def test_a_connection_counts_by_its_largest_read_and_write() -> None:
    assert (estimated_bytes(0, 0), estimated_bytes(10, 0), estimated_bytes(10, 7)) == (65_536, 65_556, 65_563)
