"""mqadmin: Java's sub-commands that touch a name server, under Java's names, and a few that Java lacks."""

import importlib
import re
from collections.abc import Sequence
from typing import NoReturn

import click

from namekeeper.cli.failure import BadUsage

__all__ = ["COMMANDS", "MqadminGroup", "admin", "main"]

COMMANDS = {
    "topicRoute": ("topic:topic_route", "Examine topic route info."),
    "topicList": ("topic:topic_list", "Fetch all topic list from name server."),
    "topicClusterList": ("topic:topic_cluster_list", "Get cluster info for topic."),
    "topicsByCluster": ("topic:topics_by_cluster", "Topics that the brokers of a cluster have. (ours)"),
    "systemTopics": ("topic:system_topics", "System topics that a name server knows. (ours)"),
    "unitTopicList": ("topic:unit_topic_list", "Topics of a unit, or with subscriptions of a unit. (ours)"),
    "deleteTopic": ("topic:delete_topic", "Delete topic from NameServer, not from brokers."),
    "clusterList": ("cluster:cluster_list", "List cluster infos."),
    "brokerMemberGroup": ("broker:broker_member_group", "Members of one broker name. (ours)"),
    "dataVersion": ("broker:data_version", "Data version that name servers hold of a broker. (ours)"),
    "wipeWritePerm": ("broker:wipe_write_perm", "Wipe write perm of broker in all name servers."),
    "addWritePerm": ("broker:add_write_perm", "Add write perm of broker in all name servers."),
    "getNamesrvConfig": ("namesrv:get_namesrv_config", "Get configs of name server."),
    "updateNamesrvConfig": ("namesrv:update_namesrv_config", "Update configs of name server."),
    "updateKvConfig": ("kv:update_kv_config", "Create or update KV config."),
    "deleteKvConfig": ("kv:delete_kv_config", "Delete KV config."),
    "kvList": ("kv:kv_list", "Everything in a namespace of the KV config. (ours)"),
    "updateOrderConf": ("kv:update_order_conf", "Create or update or delete order conf."),
}
"""Sub-command -> where it is, and what it does; nothing is imported before it is asked for."""

_NO_SUCH_COMMAND = (
    "The sub command {} not exist. These commands ask a name server; for those that ask brokers, "
    "use RocketMQ's own mqadmin."
)


class MqadminGroup(click.Group):
    """Sub-commands by Java's names, or the same in kebab-case; loaded when one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a sub-command; None for one that there isn't."""
        del ctx
        name = re.sub(r"-([a-z])", lambda match: match[1].upper(), cmd_name)
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(
            importlib.import_module(f"namekeeper.cli.commands.{module}"), attribute
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:  # fmt: skip
        """Find a sub-command; say where those are that talk to brokers."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise BadUsage(_NO_SUCH_COMMAND.format(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `help COMMAND` as Java does for `COMMAND -h`."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "-h"]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise BadUsage.of(error) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sub-commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, description) for name, (_, description) in COMMANDS.items()])


@click.group(
    "admin",
    cls=MqadminGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.pass_context
def admin(context: click.Context) -> None:
    """Ask and administer name servers: RocketMQ's mqadmin commands that touch one."""
    if context.invoked_subcommand is None:
        command = context.command_path
        lines = (f"   {name:<35} {description}" for name, (_, description) in COMMANDS.items())
        click.echo("\n".join([f"The most commonly used {command} commands are:", *lines]))
        click.echo(f"\nSee '{command} help <command>' for more information on a specific command.")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run as the console script `mqadmin`."""
    admin.main(args, prog_name="mqadmin")
