"""Name servers whose journals only confirm what is known, for runs with little to do."""

import random

from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, History, NameServer, Record
from tests.support.pipeline.law import records_of

__all__ = ["CONFIRMED", "SPEC", "World"]

SPEC = (4, 4, READ | WRITE, 0)
CONFIRMED = MARCH + 7 * HOUR


class World:
    """Some name servers and a broker; the first load ends after an hour without a change."""

    def __init__(self, servers: int = 1) -> None:
        self.history = History("quiet")
        self.broker = Broker("c", "a", 0, "10.0.0.1:10911", False, None, {"orders": SPEC, "carts": SPEC}, {})
        self.servers = [NameServer(f"ns-{n}_9876", random.Random(n), self.history) for n in range(servers)]
        for server in self.servers:
            server.offset = 0
            server.start(MARCH)
            server.register(MARCH + 1_000, self.broker)
            server.set_kv(MARCH + 2_000, "kv", ("n", "k"), "v")
            self.pass_quietly(server, 6)
            server.activity(CONFIRMED - 60_000)
        self.first = records_of([self.history])

    @staticmethod
    def pass_quietly(server: NameServer, hour: int) -> None:
        """A checkpoint, and signs of life."""
        server.begin_checkpoint(MARCH + hour * HOUR, "interval")
        server.write_checkpoint(MARCH + hour * HOUR)
        for minute in (1, 2, 40):
            server.activity(MARCH + hour * HOUR + minute * 60_000)

    def later(self) -> list[Record]:
        """What was written after the first load."""
        return [record for record in records_of([self.history]) if record not in self.first]
