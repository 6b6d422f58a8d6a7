"""How long brokers and topics are expected, and which failures are one incident."""

__all__ = [
    "LATE_MS",
    "MASS_BROKERS",
    "MEMORY_MS",
    "SHORTEST_DRIFT_MS",
    "TOGETHER_END_MS",
    "TOGETHER_MS",
    "WITNESS_AFTER_MS",
]

MEMORY_MS = 7 * 24 * 60 * 60 * 1_000
"""How long a cluster, broker or topic is expected after its last registration ended (docs/decisions/0012)."""
WITNESS_AFTER_MS = 120_000
"""Time after its start in which a name server has heard every live broker: Java expires the others by
then."""
TOGETHER_MS = 30_000
"""Failures that begin within this time are one incident: silent brokers expire at times that differ by
this."""
SHORTEST_DRIFT_MS = 5_000
"""A shorter difference of name servers is propagation, and a shorter agreement is none
(docs/decisions/0012)."""
TOGETHER_END_MS = 90_000
"""A name server that runs writes a record in each minute. So records that end at times that differ by more
than this do not end together."""
LATE_MS = 150_000
"""Within this time a name server finds out that a broker is gone: a silent one expires after 120 s, and the
scan comes every 10 s."""
MASS_BROKERS = 3
"""Least number of brokers that go together in a mass disconnect."""
