"""Sub-commands about name servers themselves: their configuration."""

import click

from namekeeper.admin import operations
from namekeeper.cli.asking import Reply, Session, mqadmin_command
from namekeeper.cli.render import render_namesrv_config
from namekeeper.common.printable import printable

__all__ = ["get_namesrv_config", "update_namesrv_config"]


@mqadmin_command("getNamesrvConfig", "Get configs of name server.")
def get_namesrv_config(session: Session) -> None:
    """Print the properties in effect at every name server."""
    session.emit_each(session.ask_each(operations.get_namesrv_config), _config_text)


@mqadmin_command("updateNamesrvConfig", "Update configs of name server.")
@click.option("-k", "--key", required=True, help="config key")
@click.option("-v", "--value", required=True, help="config value")
def update_namesrv_config(session: Session, *, key: str, value: str) -> None:
    """Set one property at every name server."""
    properties = {key.strip(): value.strip()}
    replies = session.ask_each(lambda namesrv: operations.update_namesrv_config(namesrv, properties))
    addrs = ", ".join(session.addrs)
    changed = printable(f"{key.strip()} : {value.strip()}")
    session.emit_each(replies, f"update name server config success![{addrs}]\n{changed}")


def _config_text(reply: Reply[dict[str, str]]) -> str | None:
    return None if reply.result is None else render_namesrv_config(reply.addr, reply.result)
