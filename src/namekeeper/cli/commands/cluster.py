"""Sub-commands about clusters: what a name server knows of the brokers in them."""

import itertools
import time

import click

from namekeeper.admin import operations
from namekeeper.cli.asking import Session, mqadmin_command, refuse_unknown
from namekeeper.cli.render import render_cluster_more_stats, render_cluster_table
from namekeeper.model.route import ClusterInfo

__all__ = ["cluster_list"]


@mqadmin_command("clusterList", "List cluster infos.")
@click.option("-c", "--clusterName", "cluster_name", help="which cluster")
@click.option(
    "-i", "--interval", type=click.IntRange(min=1), help="specify intervals numbers, it is in seconds"
)
@click.option("-m", "--moreStats", "more_stats", is_flag=True, help="Print more stats")
def cluster_list(
    session: Session, *, cluster_name: str | None, interval: int | None, more_stats: bool
) -> None:
    """Print the brokers of each cluster, once or again and again."""
    cluster = (cluster_name or "").strip() or None
    render = render_cluster_more_stats if more_stats else render_cluster_table
    for pause in itertools.chain([0], itertools.repeat(interval) if interval else ()):
        time.sleep(pause)
        info = session.ask_one(operations.cluster_info)
        session.emit(_narrow(info, cluster), render(info, cluster))
        if cluster is not None and cluster not in info.cluster_addr_table and not interval:
            refuse_unknown("cluster", cluster, info.cluster_addr_table)
        if not pause:
            session.note("columns with - are known to brokers only; RocketMQ's own mqadmin asks them")


def _narrow(info: ClusterInfo, cluster: str | None) -> ClusterInfo:
    """Leave only one cluster and its broker names."""
    if cluster is None:
        return info
    names = info.cluster_addr_table.get(cluster, [])
    brokers = {name: broker for name, broker in info.broker_addr_table.items() if name in names}
    return ClusterInfo(brokers, {cluster: names} if names else {})
