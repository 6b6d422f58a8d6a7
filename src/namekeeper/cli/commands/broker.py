"""Sub-commands about one broker name: its write permission, its members, its data version."""

from collections.abc import Sequence

import click

from namekeeper.admin import operations
from namekeeper.admin.views import DataVersionAnswer
from namekeeper.cli.asking import Reply, Session, mqadmin_command, refuse_unknown
from namekeeper.cli.failure import EXIT_REFUSED, CommandRefused
from namekeeper.cli.render import UNKNOWN, render_lines
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable
from namekeeper.messages.registration import QueryDataVersionRequestHeader, UnRegisterBrokerRequestHeader

__all__ = ["add_write_perm", "broker_member_group", "data_version", "retire_broker", "wipe_write_perm"]


@mqadmin_command("wipeWritePerm", "Wipe write perm of broker in all name server you defined in the -n param.")
@click.option("-b", "--brokerName", "broker_name", required=True, help="broker name")
def wipe_write_perm(session: Session, *, broker_name: str) -> None:
    """Take the write permission from the topics of a broker name, at every name server."""
    name = broker_name.strip()
    replies = session.ask_each(lambda namesrv: operations.wipe_write_perm(namesrv, name))
    _emit_perm(session, "wipe", name, replies)


@mqadmin_command("addWritePerm", "Add write perm of broker in all name server you defined in the -n param.")
@click.option("-b", "--brokerName", "broker_name", required=True, help="broker name")
def add_write_perm(session: Session, *, broker_name: str) -> None:
    """Give the topics of a broker name read and write permission, at every name server."""
    name = broker_name.strip()
    replies = session.ask_each(lambda namesrv: operations.add_write_perm(namesrv, name))
    _emit_perm(session, "add", name, replies)


@mqadmin_command("brokerMemberGroup", "Members of one broker name.")
@click.option("-c", "--clusterName", "cluster_name", required=True, help="which cluster")
@click.option("-b", "--brokerName", "broker_name", required=True, help="broker name")
def broker_member_group(session: Session, *, cluster_name: str, broker_name: str) -> None:
    """Print the ids and addresses behind a broker name."""
    cluster, name = cluster_name.strip(), broker_name.strip()
    group = session.ask_one(lambda namesrv: operations.broker_member_group(namesrv, cluster, name))
    rows = (f"{broker_id:<4}  {addr}" for broker_id, addr in sorted(group.broker_addrs.items()))
    session.emit(group, render_lines([f"{'#BID':<4}  #Addr", *rows]))
    if not group.broker_addrs:
        refuse_unknown("broker", name, session.ask_one(operations.cluster_info).broker_addr_table)


@mqadmin_command(
    "dataVersion",
    "Data version that name servers hold of a broker. Asking keeps a dead broker listed for longer.",
)
@click.option("-c", "--clusterName", "cluster_name", required=True, help="which cluster")
@click.option("-b", "--brokerName", "broker_name", required=True, help="broker name")
@click.option("-a", "--brokerAddr", "broker_addr", required=True, help="address under which it registered")
@click.option("-i", "--brokerId", "broker_id", type=int, default=0, show_default=True, help="0 is the master")
def data_version(
    session: Session, *, cluster_name: str, broker_name: str, broker_addr: str, broker_id: int
) -> None:
    """Print the data version of a broker at every name server."""
    header = QueryDataVersionRequestHeader(
        broker_name=broker_name.strip(),
        broker_addr=broker_addr.strip(),
        cluster_name=cluster_name.strip(),
        broker_id=broker_id,
    )
    replies = session.ask_each(lambda namesrv: operations.query_data_version(namesrv, header))
    session.note("name servers took the question as a sign of life of this broker")
    session.emit_each(replies, _version_line)


@mqadmin_command(
    "retireBroker",
    "Tell every name server that a broker that is gone will not return: it is not missing any more.",
)
@click.option("-c", "--clusterName", "cluster_name", required=True, help="which cluster")
@click.option("-b", "--brokerName", "broker_name", required=True, help="broker name")
@click.option("-a", "--brokerAddr", "broker_addr", required=True, help="address under which it registered")
@click.option("-i", "--brokerId", "broker_id", type=int, default=0, show_default=True, help="0 is the master")
def retire_broker(
    session: Session, *, cluster_name: str, broker_name: str, broker_addr: str, broker_id: int
) -> None:
    """Unregister a broker that is gone, at every name server; refuse one that is registered."""
    header = UnRegisterBrokerRequestHeader(
        broker_name=broker_name.strip(),
        broker_addr=broker_addr.strip(),
        cluster_name=cluster_name.strip(),
        broker_id=broker_id,
    )
    for reply in session.ask_each(operations.cluster_info):
        brokers = {} if reply.result is None else reply.result.broker_addr_table
        if any(header.broker_addr in data.broker_addrs.values() for data in brokers.values()):
            raise CommandRefused(
                printable(
                    f"{header.broker_addr} is registered at name server {reply.addr}: stop the broker first"
                )
            )
    replies = session.ask_each(lambda namesrv: operations.unregister_broker(namesrv, header))
    session.emit_each(replies, lambda reply: _retired_line(header.broker_addr, reply))


def _retired_line(broker_addr: str, reply: Reply[None]) -> str:
    outcome = "Failed" if reply.error else "OK"
    return f"retire broker[{printable(broker_addr)}] in name server[{reply.addr}] {outcome}"


def _emit_perm(session: Session, verb: str, broker_name: str, replies: Sequence[Reply[int]]) -> None:
    """Print the replies; if no name server knows the broker name, say so and end with 2.

    The answer of a name server is the same for an unknown broker name as for one without topics: 0.
    """
    unchanged = {reply.addr for reply in replies if reply.result == 0}
    infos = session.ask_each(operations.cluster_info) if unchanged else []
    known = {reply.addr: reply.result.broker_addr_table for reply in infos if reply.result is not None}
    lacking = [addr for addr in known if addr in unchanged and broker_name not in known[addr]]
    for addr in lacking:
        near = did_you_mean(broker_name, known[addr])
        session.complain(printable(f"name server {addr} has no broker {broker_name}{near}"))
    session.emit_each(replies, lambda reply: _perm_line(verb, broker_name, reply))
    if lacking and len(lacking) == len(replies):
        raise click.exceptions.Exit(EXIT_REFUSED)


def _perm_line(verb: str, broker_name: str, reply: Reply[int]) -> str:
    outcome = "Failed" if reply.error else f"OK, {reply.result}"
    return f"{verb} write perm of broker[{printable(broker_name)}] in name server[{reply.addr}] {outcome}"


def _version_line(reply: Reply[DataVersionAnswer]) -> str | None:
    if reply.result is None:
        return None
    version = reply.result.data_version
    if version is None:
        return f"{reply.addr}  {UNKNOWN} (not registered)"
    numbers = f"stateVersion={version.state_version} timestamp={version.timestamp} counter={version.counter}"
    return f"{reply.addr}  {numbers}"
