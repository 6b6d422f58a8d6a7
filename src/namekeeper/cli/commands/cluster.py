"""Sub-commands about clusters: what a name server knows of the brokers in them."""

import itertools
import time

import click

from namekeeper.admin import operations
from namekeeper.cli.asking import Session, mqadmin_command, refuse_unknown
from namekeeper.cli.output import is_wide
from namekeeper.cli.render import render_cluster_more_stats, render_cluster_table, render_cluster_wide
from namekeeper.cli.shared_options import watch_option
from namekeeper.model.route import ClusterInfo

__all__ = ["cluster_list"]


@mqadmin_command("clusterList", "List cluster infos.", wide="zone and acting master of each broker")
@click.option("-c", "--clusterName", "cluster_name", help="which cluster")
@watch_option(
    "Print again and again, with this pause in between; a number is seconds.", names=["-i", "--interval"]
)
@click.option("-m", "--moreStats", "more_stats", is_flag=True, help="Print more stats")
def cluster_list(
    session: Session, *, cluster_name: str | None, watch_ms: int | None, more_stats: bool
) -> None:
    """Print the brokers of each cluster, once or again and again."""
    cluster = (cluster_name or "").strip() or None
    render = render_cluster_wide if is_wide() else render_cluster_table
    if more_stats:
        render = render_cluster_more_stats
    for pause in itertools.chain([0], itertools.repeat(watch_ms / 1_000) if watch_ms else ()):
        time.sleep(pause)
        info = session.ask_one(operations.cluster_info)
        session.emit(_narrow(info, cluster), render(info, cluster))
        if cluster is not None and cluster not in info.cluster_addr_table and not watch_ms:
            refuse_unknown("cluster", cluster, info.cluster_addr_table)
        if not pause and render is not render_cluster_wide:
            session.note("columns with - are known to brokers only; RocketMQ's own mqadmin asks them")


def _narrow(info: ClusterInfo, cluster: str | None) -> ClusterInfo:
    """Leave only one cluster and its broker names."""
    if cluster is None:
        return info
    names = info.cluster_addr_table.get(cluster, [])
    brokers = {name: broker for name, broker in info.broker_addr_table.items() if name in names}
    return ClusterInfo(brokers, {cluster: names} if names else {})
