"""`namekeeper messages`: sends notifications about incidents, tests receivers, and shows the outbox."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click
import msgspec

from namekeeper.answers.times import iso_text
from namekeeper.app.process import spare_the_collector
from namekeeper.app.stop_signals import run_until_stopped
from namekeeper.cli.failure import failure_of
from namekeeper.cli.output import echo, json_option
from namekeeper.cli.render import render_json
from namekeeper.cli.shared_options import cluster_option
from namekeeper.clock import SystemClock
from namekeeper.common.counts import shown_count
from namekeeper.console.companion import Companion, CompanionMessages
from namekeeper.console.histories import HISTORY_BYTES, Histories
from namekeeper.console.journal_folders import JournalFolders
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.files import read_named_text
from namekeeper.notifications.message import Message, schema
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome, ReceiverState
from namekeeper.notifications.outbox_folder import OutboxFolder, read_outbox
from namekeeper.notifications.receivers import Receiver
from namekeeper.notifications.sending import Sender, check_secrets
from namekeeper.notifications.service import NotificationService
from namekeeper.notifications.settings import MessagesFile, parse_messages_file

__all__ = ["EXIT_NOT_SENT", "list_messages", "open_messages", "run", "schema_command", "test"]

EXIT_NOT_SENT = 1
"""Exit status of a test: a receiver did not acknowledge the message."""

_file_option = click.option(
    "-c", "--config-file", "config_file", required=True, metavar="FILE",
    help="TOML: the receivers, who gets what, and the folder of the outbox.",
)  # fmt: skip
_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _failing(function: Callable[..., None]) -> Callable[..., None]:
    """The same command; an error of ours is one line."""

    @wraps(function)
    def failing(*args: Any, **options: Any) -> None:  # noqa: ANN401 - click's
        try:
            function(*args, **options)
        except NamekeeperError as error:
            raise failure_of(error) from error

    return failing


@click.command("run", context_settings=_SETTINGS)
@_file_option
@click.option(
    "--journal", "journals", multiple=True, metavar="DIR",
    help="Journal folder of a name server, or a folder with several; may be repeated. Replaces those of the"
    " file.",
)  # fmt: skip
@click.option(
    "--history-bytes", type=click.IntRange(1), default=HISTORY_BYTES, show_default=True, metavar="BYTES",
    help="Memory of the histories, about.",
)  # fmt: skip
@cluster_option()
@_failing
def run(*, config_file: str, journals: tuple[str, ...], history_bytes: int, cluster: str | None) -> None:
    """Follow journals, and send one message when an incident opens and one when it closes.

    Runs until SIGTERM or Ctrl-C. A line is printed for each message, and when a receiver has a problem. One
    process owns an outbox; a second one ends with 2. Incidents that are open at the first start are sent
    once.
    """
    file = _load(config_file)
    check_secrets(file.settings.receivers)
    folders = JournalFolders([*(journals or file.journals)], label=cluster)
    if not (journals or file.journals):
        raise ConfigError(f'give --journal DIR, or journals = ["journal"] in {config_file}')
    histories = Histories(folders.open(), history_bytes)
    with contextlib.ExitStack() as closing:
        messages = open_messages(file, closing)
        companion = Companion(histories, folders=folders, messages=messages, announce=echo)
        names = ", ".join(each.namesrv for each in histories.all)
        echo(f"following {names}; {shown_count(len(file.settings.receivers), 'receiver')}")
        spare_the_collector()
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run_until_stopped(companion.run()))


def open_messages(file: MessagesFile, closing: contextlib.ExitStack) -> CompanionMessages:
    """Read the expected state, and take the outbox until `closing` gives it back.

    Raises:
        ConfigError: one of them can't be used.
    """
    settings = file.settings
    expected = ExpectedFile(file.expect, echo) if file.expect else None
    folder = OutboxFolder(settings.outbox)
    closing.callback(folder.close)
    outbox = folder.load()
    service = NotificationService(
        settings, outbox, folder, send=Sender(settings.zone), clock=SystemClock(), announce=echo
    )
    return CompanionMessages(service, expected)


@click.command("test", context_settings=_SETTINGS)
@_file_option
@click.argument("names", metavar="[RECEIVER]...", nargs=-1)
@json_option()
@click.pass_context
@_failing
def test(context: click.Context, /, *, config_file: str, names: tuple[str, ...], as_json: bool) -> None:
    """Send a test message to each receiver, or to those that are named.

    Ends with 0 if each one acknowledged it, 1 if one did not; 2 if the file can't be used. Needs no journal,
    and no outbox.
    """
    settings = _load(config_file).settings
    unknown = [name for name in names if settings.receiver(name) is None]
    if unknown:
        raise ConfigError(f"{config_file} has no receiver {unknown[0]!r}")
    receivers = [each for each in settings.receivers if not names or each.name in names]
    outcomes = asyncio.run(_test(receivers, Sender(settings.zone), settings.page))
    if as_json:
        echo(render_json({
            receiver.name: {"is_sent": not outcome.reason, "reason": outcome.reason or None}
            for receiver, outcome in zip(receivers, outcomes, strict=True)
        }))  # fmt: skip
    else:
        for receiver, outcome in zip(receivers, outcomes, strict=True):
            echo(f"{receiver.name}: {outcome.reason or 'sent'}")
    context.exit(0 if all(_is_sent(each) for each in outcomes) else EXIT_NOT_SENT)


async def _test(receivers: Sequence[Receiver], send: Sender, page: str) -> list[AttemptOutcome]:
    now = iso_text(SystemClock().now().wall_ms)
    return await asyncio.gather(
        *(
            send(
                each,
                Message(
                    message=f"test-{now}", receiver=each.name, created=now, is_test=True, page=page, events=[]
                ),
            )
            for each in receivers
        )
    )


def _is_sent(outcome: AttemptOutcome) -> bool:
    return outcome.kind is AttemptEnd.ACKNOWLEDGED


@click.command("list", context_settings=_SETTINGS)
@_file_option
@json_option()
@_failing
def list_messages(*, config_file: str, as_json: bool) -> None:
    """Show the outbox: what waits for each receiver, and the problem that it has."""
    settings = _load(config_file).settings
    outbox = read_outbox(settings.outbox)
    if outbox is None:
        raise ConfigError(f"{settings.outbox} has no outbox: `namekeeper messages run` makes one")
    if as_json:
        echo(msgspec.json.format(msgspec.json.encode(outbox), indent=2).decode())
        return
    still_open = sum(each.is_open for each in outbox.tracking.incidents.values())
    echo(f"{shown_count(still_open, 'open incident')}")
    for name, state in outbox.receivers.items():
        echo(f"{name}: {_state_line(state)}")


def _state_line(state: ReceiverState) -> str:
    parts = [f"{state.acknowledged:,} sent"]
    if state.sending is not None:
        attempts = shown_count(state.sending.attempts, "attempt")
        parts.append(f"1 is being sent, after {attempts}{f': {state.problem}' if state.problem else ''}")
    if state.waiting:
        parts.append(f"{shown_count(len(state.waiting), 'event')} waiting")
    if state.given_up:
        parts.append(f"{state.given_up:,} given up")
    return ", ".join(parts)


@click.command("schema", context_settings=_SETTINGS)
def schema_command() -> None:
    """Print the JSON schema of what a webhook gets."""
    echo(schema().decode().rstrip())


def _load(config_file: str) -> MessagesFile:
    return parse_messages_file(read_named_text(config_file), source=config_file)
