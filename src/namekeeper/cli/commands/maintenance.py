"""`namekeeper maintenance`: windows in which deviations and incidents are planned."""

import os
import socket
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from namekeeper.answers.times import iso_text, shown
from namekeeper.cli.commands.expect import expect_option
from namekeeper.cli.durations import take_duration
from namekeeper.cli.failure import CommandRefused, failure_of
from namekeeper.cli.history import take_instant, take_zone, zone_option
from namekeeper.cli.output import echo, json_option, note
from namekeeper.cli.plan_asking import CompanionPage, companion_options, take_companion
from namekeeper.cli.render import render_json
from namekeeper.clock import SystemClock
from namekeeper.common.printable import printable
from namekeeper.errors import NamekeeperError
from namekeeper.expected.incidents import user_name
from namekeeper.expected.maintenance import Author, MaintenanceWindow, Scope, window_of, window_value
from namekeeper.expected.plan import PlanFiles, StartedWindow

__all__ = ["end", "list_windows", "start"]

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_NOW = "now"
_why_option = click.option("--why", default="", metavar="TEXT", help="The reason, for the log.")


@click.command("start", context_settings=_SETTINGS)
@expect_option
@click.option(
    "--for", "for_ms", required=True, callback=take_duration, metavar="DURATION",
    help="How long it lasts, as in 30m.",
)  # fmt: skip
@click.option(
    "--from", "from_text", default=_NOW, show_default=True, metavar="TIME", help="When it begins; ISO 8601."
)
@click.option("--broker", "brokers", multiple=True, metavar="NAME", help="A broker name; may be repeated.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="A topic; may be repeated.")
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="A cluster; may be repeated.")
@click.option(
    "--name-server", "name_servers", multiple=True, metavar="ID",
    help="Id of a name server; may be repeated.",
)  # fmt: skip
@_why_option
@companion_options(is_required=False)
@zone_option
def start(  # noqa: PLR0913 - one for each option
    *, expected_file: str, for_ms: int, from_text: str, brokers: tuple[str, ...], topics: tuple[str, ...],
    clusters: tuple[str, ...], name_servers: tuple[str, ...], why: str, zone_name: str | None,
    **page: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Start a maintenance window: until it ends, no messages are sent about what it names.

    Deviations and incidents that begin and end in it are marked as planned. Prints the id of the window.

    Ends with 0; 2 if it is refused, or the file or the log beside it can't be used; 3 if the companion does
    not answer.
    """
    if not (brokers or topics or clusters or name_servers):
        raise click.UsageError("say what is worked on: --broker, --topic, --cluster or --name-server NAME")
    zone = take_zone(zone_name)
    begin = None if from_text == _NOW else take_instant(from_text, zone, "--from")
    scope = Scope(brokers=brokers, topics=topics, clusters=clusters, name_servers=name_servers)
    now = SystemClock().now().wall_ms
    try:
        companion = _companion(page)
        started = (
            PlanFiles(expected_file).start(scope, for_ms=for_ms, begin=begin, by=_user(), why=why, now=now)
            if companion is None
            else _start_at(companion, scope, for_ms, begin, why)
        )
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in started.notes:
        note(printable(f"note: {text}"))
    window = started.window
    when = f"from {shown(window.begin, zone)} " if begin is not None and window.begin > now else ""
    echo(printable(f"{window.id}: {when}until {shown(window.end, zone)}"))


@click.command("list", context_settings=_SETTINGS)
@expect_option
@click.option("--all", "is_all", is_flag=True, help="Also windows that are over.")
@companion_options(is_required=False)
@zone_option
@json_option()
def list_windows(
    *, expected_file: str, is_all: bool, zone_name: str | None, as_json: bool, **page: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Show the maintenance windows that are not over, with who started them and why.

    Ends with 0; 2 if it is refused, or the file or the log beside it can't be used; 3 if the companion does
    not answer.
    """
    zone = take_zone(zone_name)
    try:
        companion = _companion(page)
        if companion is None:
            plan = PlanFiles(expected_file)
            windows, now, notes = plan.windows(), SystemClock().now().wall_ms, plan.notes
        else:
            answer = companion.asks_json("/api/maintenance", _Listed)
            windows, now, notes = [*map(_window, answer.windows)], answer.now, answer.notes
    except NamekeeperError as error:
        raise failure_of(error) from error
    shown_ones = [each for each in windows if is_all or now < each.end]
    for text in notes:
        note(printable(f"note: {text}"))
    if as_json:
        echo(render_json([*map(window_value, shown_ones)]))
        return
    for each in shown_ones:
        when = f"{shown(each.begin, zone)} to {shown(each.end, zone)}"
        parts = (each.id, when, _about(each.scope), f"by {each.who}", each.why)
        echo(printable("  ".join(filter(None, parts))))
    if not shown_ones:
        echo("no maintenance window")


@click.command("end", context_settings=_SETTINGS)
@expect_option
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@_why_option
@companion_options(is_required=False)
def end(*, expected_file: str, ids: tuple[str, ...], why: str, **page: Any) -> None:  # noqa: ANN401
    """End maintenance windows now.

    Ends with 0; 2 if it is refused, there is no such window, or it is over, or the log can't be used; 3 if
    the companion does not answer.
    """
    try:
        companion = _companion(page)
        if companion is None:
            now = SystemClock().now().wall_ms
            PlanFiles(expected_file).end(ids, by=_user(), why=why, now=now)
        else:
            companion.asks_json("/api/maintenance/end", dict[str, Any], "POST", {"ids": ids, "why": why})
    except NamekeeperError as error:
        raise failure_of(error) from error
    for id_ in ids:
        echo(printable(f"{id_}: ended"))


class _Listed(msgspec.Struct):
    """The answer of a companion that is asked for windows."""

    now: int
    windows: list[dict[str, Any]]
    notes: list[str] = []


def _start_at(
    companion: CompanionPage, scope: Scope, for_ms: int, begin: int | None, why: str
) -> StartedWindow:
    wanted = {"for_ms": for_ms, "why": why, **msgspec.structs.asdict(scope)}
    if begin is not None:
        wanted["from"] = iso_text(begin)
    answer = companion.asks_json("/api/maintenance", dict[str, Any], "POST", wanted)
    return StartedWindow(_window(answer), [*map(str, answer.get("notes", ()))])


def _window(value: dict[str, Any]) -> MaintenanceWindow:
    try:
        return window_of(value)
    except msgspec.MsgspecError as error:
        raise CommandRefused(f"this is no companion: {error}") from None


def _companion(options: dict[str, Any]) -> CompanionPage | None:
    """The companion, if one is to be asked.

    Raises:
        ConfigError: its address can't be used.
        click.UsageError: a file is given, too.
    """
    companion = take_companion(options)
    source = click.get_current_context().get_parameter_source("expected_file")
    if companion is not None and source is ParameterSource.COMMANDLINE:
        raise click.UsageError("give --http HOST:PORT or --expect FILE: the companion has a file of its own")
    return companion


def _user() -> Author:
    """The user of this process, as the system knows them, and the host."""
    return Author(who=f"{user_name(os.getuid())}@{socket.gethostname()}")


def _about(scope: Scope) -> str:
    parts = (
        ("broker", scope.brokers), ("topic", scope.topics), ("cluster", scope.clusters),
        ("name server", scope.name_servers),
    )  # fmt: skip
    return ", ".join(f"{word} {name}" for word, names in parts for name in names)
