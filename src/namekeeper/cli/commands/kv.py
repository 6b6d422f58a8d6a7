"""Sub-commands about the KV configuration, of which the order configuration of topics is a part."""

import click

from namekeeper.admin import operations
from namekeeper.cli.asking import Session, mqadmin_command, refuse_usage
from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.render import render_key_values, render_lines
from namekeeper.common.printable import printable
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG

__all__ = ["delete_kv_config", "kv_list", "update_kv_config", "update_order_conf"]


@mqadmin_command("updateKvConfig", "Create or update KV config.")
@click.option("-s", "--namespace", required=True, help="set the namespace")
@click.option("-k", "--key", required=True, help="set the key name")
@click.option("-v", "--value", required=True, help="set the key value")
def update_kv_config(session: Session, *, namespace: str, key: str, value: str) -> None:
    """Store a value at every name server."""
    namespace, key, value = namespace.strip(), key.strip(), value.strip()
    replies = session.ask_each(lambda namesrv: operations.put_kv_config(namesrv, namespace, key, value))
    session.emit_each(replies, "create or update kv config to namespace success.")


@mqadmin_command("deleteKvConfig", "Delete KV config.")
@click.option("-s", "--namespace", required=True, help="set the namespace")
@click.option("-k", "--key", required=True, help="set the key name")
def delete_kv_config(session: Session, *, namespace: str, key: str) -> None:
    """Remove a value at every name server."""
    namespace, key = namespace.strip(), key.strip()
    replies = session.ask_each(lambda namesrv: operations.delete_kv_config(namesrv, namespace, key))
    session.emit_each(replies, "delete kv config from namespace success.")


@mqadmin_command("kvList", "Everything in a namespace of the KV config.")
@click.option("-s", "--namespace", default=ORDER_TOPIC_CONFIG, show_default=True, help="which namespace")
def kv_list(session: Session, *, namespace: str) -> None:
    """Print the keys and values of a namespace."""
    table = session.ask_one(lambda namesrv: operations.kv_list(namesrv, namespace.strip()))
    if table is None:
        raise CommandRefused(f"no namespace {namespace.strip()} in the KV config")
    session.emit({"table": table}, render_key_values(table))


@mqadmin_command("updateOrderConf", "Create or update or delete order conf.")
@click.option("-t", "--topic", required=True, help="topic name")
@click.option("-v", "--orderConf", "order_conf", help="set order conf [eg. brokerName1:num;brokerName2:num]")
@click.option("-m", "--method", required=True, type=click.Choice(["put", "get", "delete"]), help="what to do")
def update_order_conf(session: Session, *, topic: str, order_conf: str | None, method: str) -> None:
    """Put, print or remove the order configuration of a topic."""
    topic, conf = topic.strip(), (order_conf or "").strip()
    if method == "get":
        _print_order_conf(session, topic)
    elif method == "delete":
        replies = session.ask_each(lambda namesrv: operations.delete_order_conf(namesrv, topic))
        session.emit_each(replies, f"delete orderConf success. topic=[{printable(topic)}]")
    elif not conf:
        refuse_usage("please set orderConf with option -v.")
    else:
        replies = session.ask_each(lambda namesrv: operations.put_order_conf(namesrv, topic, conf))
        text = f"update orderConf success. topic=[{printable(topic)}], orderConf=[{printable(conf)}]"
        session.emit_each(replies, text)


def _print_order_conf(session: Session, topic: str) -> None:
    conf = session.ask_one(lambda namesrv: operations.get_order_conf(namesrv, topic))
    if conf is None:
        raise CommandRefused(f"no order conf of topic {topic}")
    text = render_lines([f"get orderConf success. topic=[{topic}], orderConf=[{conf}] "])
    session.emit({"topic": topic, "orderConf": conf}, text)
