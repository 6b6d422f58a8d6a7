"""`namekeeper maintenance`: windows in which deviations and incidents are planned."""

import os
import pwd
import socket
from collections.abc import Iterator
from pathlib import Path

import click

from namekeeper.answers.times import iso_text, shown
from namekeeper.cli.commands.expect import expect_option
from namekeeper.cli.durations import take_duration
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import take_instant, take_zone, zone_option
from namekeeper.cli.output import echo, json_option, note
from namekeeper.cli.render import render_json
from namekeeper.clock import SystemClock
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.expected.maintenance import MaintenanceLog, MaintenanceWindow, Scope, log_beside
from namekeeper.expected.state_file import read_expected

__all__ = ["end", "list_windows", "start"]

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_why_option = click.option("--why", default="", metavar="TEXT", help="The reason, for the log.")


@click.command("start", context_settings=_SETTINGS)
@expect_option
@click.option(
    "--for", "for_ms", required=True, callback=take_duration, metavar="DURATION",
    help="How long it lasts, as in 30m.",
)  # fmt: skip
@click.option(
    "--from", "from_text", default="now", show_default=True, metavar="TIME", help="When it begins; ISO 8601."
)
@click.option("--broker", "brokers", multiple=True, metavar="NAME", help="A broker name; may be repeated.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="A topic; may be repeated.")
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="A cluster; may be repeated.")
@click.option(
    "--name-server", "name_servers", multiple=True, metavar="ID",
    help="Id of a name server; may be repeated.",
)  # fmt: skip
@_why_option
@zone_option
def start(  # noqa: PLR0913 - one for each option
    *, expected_file: str, for_ms: int, from_text: str, brokers: tuple[str, ...], topics: tuple[str, ...],
    clusters: tuple[str, ...], name_servers: tuple[str, ...], why: str, zone_name: str | None,
) -> None:  # fmt: skip
    """Start a maintenance window: until it ends, no messages are sent about what it names.

    Deviations and incidents that begin and end in it are marked as planned. Prints the id of the window.

    Ends with 0; 2 if the file or the log beside it can't be used.
    """
    if not (brokers or topics or clusters or name_servers):
        raise click.UsageError("say what is worked on: --broker, --topic, --cluster or --name-server NAME")
    zone = take_zone(zone_name)
    now = SystemClock().now().wall_ms
    begin = take_instant(from_text, zone, "--from")
    scope = Scope(brokers=brokers, topics=topics, clusters=clusters, name_servers=name_servers)
    last = begin + for_ms
    try:
        id_ = _log(expected_file).start(scope, begin, last, who=_who(), why=why, now=now)
    except NamekeeperError as error:
        raise failure_of(error) from error
    notes = [*_unexpected_names(scope, expected_file)]
    if last <= now:
        notes.append("the window is over: it covers only what began and ended in it")
    for text in notes:
        note(printable(f"note: {text}"))
    echo(f"{id_}: {f'from {shown(begin, zone)} ' if begin > now else ''}until {shown(last, zone)}")


@click.command("list", context_settings=_SETTINGS)
@expect_option
@click.option("--all", "is_all", is_flag=True, help="Also windows that are over.")
@zone_option
@json_option()
def list_windows(*, expected_file: str, is_all: bool, zone_name: str | None, as_json: bool) -> None:
    """Show the maintenance windows that are not over, with who started them and why.

    Ends with 0; 2 if the file or the log beside it can't be used.
    """
    zone = take_zone(zone_name)
    now = SystemClock().now().wall_ms
    try:
        log = _log(expected_file)
        windows = [each for each in log.windows() if is_all or now < each.end]
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in log.notes:
        note(printable(f"note: {text}"))
    if as_json:
        echo(render_json([_value(each) for each in windows]))
        return
    for each in windows:
        when = f"{shown(each.begin, zone)} to {shown(each.end, zone)}"
        parts = (each.id, when, _about(each.scope), f"by {each.who}", each.why)
        echo(printable("  ".join(filter(None, parts))))
    if not windows:
        echo("no maintenance window")


@click.command("end", context_settings=_SETTINGS)
@expect_option
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@_why_option
def end(*, expected_file: str, ids: tuple[str, ...], why: str) -> None:
    """End maintenance windows now.

    Ends with 0; 2 if there is no such window, or it is over, or the log can't be used.
    """
    now = SystemClock().now().wall_ms
    try:
        log = _log(expected_file)
        lasting = {each.id for each in log.windows() if now < each.end}
        for id_ in ids:
            if id_ not in lasting:
                raise ConfigError(f"no window {id_!r} lasts: see `namekeeper maintenance list`")
        for id_ in ids:
            log.end(id_, who=_who(), why=why, now=now)
            echo(f"{id_}: ended")
    except NamekeeperError as error:
        raise failure_of(error) from error


def _log(expected_file: str) -> MaintenanceLog:
    if not Path(expected_file).is_file():
        raise ConfigError(f"{expected_file} does not exist: `namekeeper expect learn` writes it")
    return MaintenanceLog(log_beside(expected_file))


def _unexpected_names(scope: Scope, expected_file: str) -> Iterator[str]:
    """A note on each name of a window that the file should have and does not: it may be misspelt.

    A file that can't be used is a note, too: the window counts all the same.
    """
    try:
        clusters = read_expected(expected_file).clusters
    except ConfigError as error:
        yield str(error)
        return
    known = (
        ("broker", scope.brokers, {name for each in clusters for name in each.brokers},
         any(each.allow_other_brokers for each in clusters)),
        ("topic", scope.topics, {name for each in clusters for name in (*each.topics, *each.writable)},
         any(each.allow_other_topics for each in clusters)),
        ("cluster", scope.clusters, {each.name for each in clusters}, False),
        ("name server", scope.name_servers, {name for each in clusters for name in each.name_servers}, False),
    )  # fmt: skip
    for word, names, expected, has_others in known:
        for name in names:
            if name not in expected and not has_others:
                yield f"{expected_file} has no {word} {name!r}{did_you_mean(name, expected)}"


def _who() -> str:
    """The user of this process, as the system knows it, and the host."""
    user = os.getuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = str(user)
    return f"{name}@{socket.gethostname()}"


def _about(scope: Scope) -> str:
    parts = (
        ("broker", scope.brokers), ("topic", scope.topics), ("cluster", scope.clusters),
        ("name server", scope.name_servers),
    )  # fmt: skip
    return ", ".join(f"{word} {name}" for word, names in parts for name in names)


def _value(window: MaintenanceWindow) -> dict[str, object]:
    return {
        "id": window.id,
        "from": window.begin,
        "from_iso": iso_text(window.begin),
        "to": window.end,
        "to_iso": iso_text(window.end),
        "brokers": window.scope.brokers,
        "topics": window.scope.topics,
        "clusters": window.scope.clusters,
        "name_servers": window.scope.name_servers,
        "who": window.who,
        "why": window.why,
    }
