"""Sub-commands about topics: routes, lists, and deletion at name servers."""

import asyncio

import click

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.views import UnitTopics
from namekeeper.cli.asking import Session, mqadmin_command
from namekeeper.cli.output import is_wide
from namekeeper.cli.render import (
    render_java_json,
    render_lines,
    render_route_list,
    render_topic_clusters,
    route_clusters,
)
from namekeeper.common.printable import printable
from namekeeper.errors import ResponseError
from namekeeper.model.route import ClusterInfo

__all__ = [
    "delete_topic",
    "system_topics",
    "topic_cluster_list",
    "topic_list",
    "topic_route",
    "topics_by_cluster",
    "unit_topic_list",
]

_ROUTES_AT_ONCE = 32
"""Route requests under way while the clusters of all topics are looked up: enough to hide a round trip."""

_GROUP_PREFIXES = ("%RETRY%", "%DLQ%")
"""Topics of consumer groups, which `topicList -c` leaves out as Java does."""


@mqadmin_command(
    "topicRoute", "Examine topic route info.", wide="the list format with flags, zone and acting master"
)
@click.option("-t", "--topic", required=True, help="topic name")
@click.option("-l", "--list", "as_list", is_flag=True, help="Use list format to print data")
def topic_route(session: Session, *, topic: str, as_list: bool) -> None:
    """Print the route of a topic."""
    is_table = as_list or is_wide()
    route = session.ask_one(
        lambda namesrv: operations.topic_route(namesrv, topic.strip()), beside_json=not is_table
    )
    session.emit(
        route,
        render_route_list(route, wide=is_wide())
        if is_table
        else render_java_json(route, is_strict=session.is_one_stream),
    )


@mqadmin_command("topicList", "Fetch all topic list from name server.", wide="the same as -c")
@click.option("-c", "--clusterModel", "cluster_model", is_flag=True, help="clusterModel")
def topic_list(session: Session, *, cluster_model: bool) -> None:
    """Print every topic, on request with its clusters."""
    if not (cluster_model or is_wide()):
        topics = session.ask_one(operations.all_topics)
        session.emit(topics, render_lines(sorted(topics.topic_list)))
        return
    rows = session.ask_one(_topics_with_clusters)
    text = render_topic_clusters(
        [(cluster, topic) for topic, clusters in rows for cluster in clusters or [""]]
    )
    session.emit([{"topic": topic, "clusters": clusters} for topic, clusters in rows], text)
    session.note("consumer groups are known to brokers only; RocketMQ's own mqadmin asks them")


@mqadmin_command("topicClusterList", "Get cluster info for topic.")
@click.option("-t", "--topic", required=True, help="topic name")
def topic_cluster_list(session: Session, *, topic: str) -> None:
    """Print the clusters that have a topic."""

    async def clusters(namesrv: Namesrv) -> list[str]:
        info = await operations.cluster_info(namesrv)
        return route_clusters(await operations.topic_route(namesrv, topic.strip()), info)

    found = session.ask_one(clusters)
    session.emit(found, render_lines(found))


@mqadmin_command("deleteTopic", "Delete topic from NameServer; brokers that still have it bring it back.")
@click.option("-t", "--topic", required=True, help="topic name")
@click.option("-c", "--clusterName", "cluster_name", required=True, help="delete topic from which cluster")
def delete_topic(session: Session, *, topic: str, cluster_name: str) -> None:
    """Remove a topic from every name server, and only there."""
    topic = topic.strip()
    replies = session.ask_each(lambda namesrv: operations.delete_topic(namesrv, topic, cluster_name.strip()))
    session.note("brokers were not asked; one that still has the topic registers it again")
    session.emit_each(replies, f"delete topic [{printable(topic)}] from NameServer success.")


@mqadmin_command("topicsByCluster", "Topics that the brokers of a cluster have.")
@click.option("-c", "--clusterName", "cluster_name", required=True, help="which cluster")
def topics_by_cluster(session: Session, *, cluster_name: str) -> None:
    """Print the topics of a cluster."""
    topics = session.ask_one(lambda namesrv: operations.topics_by_cluster(namesrv, cluster_name.strip()))
    session.emit(topics, render_lines(sorted(topics.topic_list)))


@mqadmin_command(
    "systemTopics", "Names of clusters and brokers, which are topics too, and a broker to ask for more."
)
def system_topics(session: Session) -> None:
    """Print the system topics that a name server knows."""
    topics = session.ask_one(operations.system_topics)
    session.emit(topics, render_lines(sorted(topics.topic_list)))
    if topics.broker_addr:
        session.note(f"the broker at {topics.broker_addr} knows more")


@mqadmin_command("unitTopicList", "Topics of a unit, or with subscriptions of a unit.")
@click.option(
    "-k", "--kind", type=click.Choice([kind.value for kind in UnitTopics]), default=UnitTopics.UNIT.value,
    show_default=True, help="which of the three lists",
)  # fmt: skip
def unit_topic_list(session: Session, *, kind: str) -> None:
    """Print one of the three unit topic lists."""
    topics = session.ask_one(lambda namesrv: operations.unit_topics(namesrv, UnitTopics(kind)))
    session.emit(topics, render_lines(sorted(topics.topic_list)))


async def _topics_with_clusters(namesrv: Namesrv) -> list[tuple[str, list[str]]]:
    """Return each topic with its clusters; a topic whose route is gone meanwhile has none."""
    info = await operations.cluster_info(namesrv)
    topics = sorted((await operations.all_topics(namesrv)).topic_list)
    at_once = asyncio.Semaphore(_ROUTES_AT_ONCE)

    async def clusters(topic: str) -> list[str]:
        async with at_once:
            return await _clusters_of(namesrv, topic, info)

    wanted = [topic for topic in topics if not topic.startswith(_GROUP_PREFIXES)]
    return list(zip(wanted, await asyncio.gather(*map(clusters, wanted)), strict=True))


async def _clusters_of(namesrv: Namesrv, topic: str, info: ClusterInfo) -> list[str]:
    try:
        return route_clusters(await operations.topic_route(namesrv, topic), info)
    except ResponseError:
        return []
