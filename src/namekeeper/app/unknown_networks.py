"""Raises an alarm when a broker outside of the expected networks registers: `brokerNetworks`."""

import logging
from collections.abc import Callable, Iterable

from namekeeper.access.peer import IpNetwork, peer_at
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.route.events import BrokerLiveChanged

__all__ = ["unknown_network_alarm"]

log = logging.getLogger("namekeeper.namesrv")


def unknown_network_alarm(networks: Iterable[IpNetwork]) -> Callable[[BrokerLiveChanged], bool]:
    """Return a check of new registrations: it logs and returns True if an address is in no network.

    It checks the connection's address and the address for clients. It doesn't check host names, which are not
    resolved, and restored brokers, which have no connection.
    """
    known = tuple(networks)
    log_limit = LogLimit(log)

    def judge(event: BrokerLiveChanged) -> bool:
        if not known:
            return False
        outside = [addr for addr in (event.remote_addr, event.broker_addr) if _is_in_none(addr, known)]
        if outside:
            log_limit.log(
                logging.WARNING, "broker %s of %s at %s registered from %s: %s is in none of brokerNetworks",
                event.broker_name, event.cluster_name, event.broker_addr, event.remote_addr, outside[0],
            )  # fmt: skip
        return bool(outside)

    return judge


def _is_in_none(addr: str, networks: Iterable[IpNetwork]) -> bool:
    address = peer_at(addr).address
    return address is not None and not any(address in network for network in networks)
