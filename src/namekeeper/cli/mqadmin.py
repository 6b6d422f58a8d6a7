"""mqadmin: Java's sub-commands that touch a name server, under Java's names, and a few that Java lacks."""

from collections.abc import Sequence
from typing import NoReturn

import click

from namekeeper.cli.failure import BadUsage
from namekeeper.cli.group import Commands, LazyGroup
from namekeeper.cli.output import echo
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable

__all__ = ["COMMANDS", "MqadminGroup", "admin", "main"]

COMMANDS: Commands = {
    "topicRoute": ("commands.topic:topic_route", "Examine topic route info."),
    "topicList": ("commands.topic:topic_list", "Fetch all topic list from name server."),
    "topicClusterList": ("commands.topic:topic_cluster_list", "Get cluster info for topic."),
    "topicsByCluster": (
        "commands.topic:topics_by_cluster",
        "Topics that the brokers of a cluster have. (ours)",
    ),
    "systemTopics": (
        "commands.topic:system_topics",
        "System topics that a name server knows. (ours)",
    ),
    "unitTopicList": (
        "commands.topic:unit_topic_list",
        "Topics of a unit, or with subscriptions of a unit. (ours)",
    ),
    "deleteTopic": (
        "commands.topic:delete_topic",
        "Delete topic from NameServer, not from brokers.",
    ),
    "clusterList": ("commands.cluster:cluster_list", "List cluster infos."),
    "brokerMemberGroup": ("commands.broker:broker_member_group", "Members of one broker name. (ours)"),
    "dataVersion": (
        "commands.broker:data_version",
        "Data version that name servers hold of a broker. (ours)",
    ),
    "retireBroker": (
        "commands.broker:retire_broker",
        "Tell name servers that a broker that is gone will not return. (ours)",
    ),
    "wipeWritePerm": (
        "commands.broker:wipe_write_perm",
        "Wipe write perm of broker in all name servers.",
    ),
    "addWritePerm": (
        "commands.broker:add_write_perm",
        "Add write perm of broker in all name servers.",
    ),
    "getNamesrvConfig": ("commands.namesrv:get_namesrv_config", "Get configs of name server."),
    "updateNamesrvConfig": ("commands.namesrv:update_namesrv_config", "Update configs of name server."),
    "updateKvConfig": ("commands.kv:update_kv_config", "Create or update KV config."),
    "deleteKvConfig": ("commands.kv:delete_kv_config", "Delete KV config."),
    "kvList": ("commands.kv:kv_list", "Everything in a namespace of the KV config. (ours)"),
    "updateOrderConf": ("commands.kv:update_order_conf", "Create or update or delete order conf."),
}

_NO_SUCH_COMMAND = (
    "The sub command {} not exist.{} These commands ask a name server; for those that ask brokers, "
    "use RocketMQ's own mqadmin."
)


class MqadminGroup(LazyGroup):
    """Commands by Java's names in any case; errors and help as in Java's tool."""

    def no_such_command(self, ctx: click.Context, name: str) -> click.UsageError:
        """Say where those are that talk to brokers."""
        question = did_you_mean(name, COMMANDS).replace(": did", " Did")
        return BadUsage(_NO_SUCH_COMMAND.format(printable(name), question), ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `help COMMAND` as Java does for `COMMAND -h`, and options before the command."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "-h"]
        if args[:1] and args[0].startswith("-"):
            at = next((at for at, word in enumerate(args) if self.name_of(word) is not None), 0)
            args = [args[at], *args[:at], *args[at + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise BadUsage.of(error) from None


@click.pass_context
def _list_commands(context: click.Context) -> None:
    """Print the commands, as Java's tool does when it is called without one."""
    if context.invoked_subcommand is None:
        command = context.command_path
        lines = (f"   {name:<35} {description}" for name, (_, description) in COMMANDS.items())
        echo("\n".join([f"The most commonly used {command} commands are:", *lines]))
        echo(f"\nSee '{command} help <command>' for more information on a specific command.")


admin = MqadminGroup(
    COMMANDS,
    name="admin",
    help="Ask and administer name servers: RocketMQ's mqadmin commands that touch one.",
    callback=_list_commands,
    invoke_without_command=True,
)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run as the console script `mqadmin`."""
    admin.main(args, prog_name="mqadmin")
