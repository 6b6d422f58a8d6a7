"""`namekeeper expect`: learns what must be there, compares it with what is, and sends it to a companion."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click
from msgspec import structs, to_builtins

from namekeeper.answers.incidents.deviation import Deviation, deviation_text
from namekeeper.answers.incidents.texts import cause_text
from namekeeper.answers.times import Zone, iso_text, shown, shown_start
from namekeeper.cli.durations import take_duration
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NOT_KNOWN,
    history_options,
    history_source_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.plan_asking import CompanionPage, companion_options, take_companion
from namekeeper.cli.render import render_json
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.drift.compared import last_common_instant
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.expected.deviations import Deviations, deviations
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.expected.maintenance import WindowsByName, planned_deviation
from namekeeper.expected.plan import digest_of
from namekeeper.expected.state import learn
from namekeeper.expected.state_file import FILE_LIMIT, expected_text, parse_expected
from namekeeper.files import atomic_replace, problem_with, read_named_text
from namekeeper.remoting.asking_pages import SentBody

__all__ = [
    "EXIT_DEVIATES", "EXPECTED_FILE", "check", "expect_option", "get_command", "learn_command", "put_command",
]  # fmt: skip

EXIT_DEVIATES = 1
"""Exit status: something deviates, and it is not planned."""
EXPECTED_FILE = "expected.toml"
DIGITS = 12
"""Digits of a digest that people see and type."""
_SETTINGS = {"help_option_names": ["-h", "--help"]}
_DAY = "1 day"

expect_option = click.option(
    "--expect", "expected_file", default=EXPECTED_FILE, show_default=True, metavar="FILE",
    help="File of the expected state.",
)  # fmt: skip


@click.command("learn", cls=SectionedCommand, context_settings=_SETTINGS)
@expect_option
@click.option("--at", "at_text", metavar="TIME", help=f"What was there then. {AT_HELP} By default now.")
@click.option("--force", is_flag=True, help="Replace the file if it is there; its content stays in FILE.bak.")
@history_source_options
def learn_command(  # noqa: PLR0913 - one for each option
    *, expected_file: str, at_text: str | None, force: bool, journals: tuple[str, ...],
    warehouse: str | None, zone_name: str | None, session: MakeSession,
) -> None:  # fmt: skip
    """Write what is there now to a file, as what must be there: review it and change it.

    Clusters with their name servers, brokers with the ids of their members, topics with queues and
    permissions, and order configurations. Topics that brokers make by themselves are left out.

    Ends with 0; 2 if a journal or the file can't be used; 3 if nothing is known.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        _refuse_to_overwrite(expected_file, is_forced=force)
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session)
            at = source.instant(at)
            found = learn(source.histories(at, 0), at)
        for text in (*source.notes, *found.notes):
            note(printable(f"note: {text}"))
        if not found.state.clusters:
            note("nothing is known of that time: nothing was written")
            click.get_current_context().exit(EXIT_NOT_KNOWN)
        atomic_replace(expected_file, expected_text(found.state).encode())
    except OSError as error:
        raise failure_of(ConfigError(f"{expected_file}: {problem_with(expected_file, error)}")) from error
    except NamekeeperError as error:
        raise failure_of(error) from error
    clusters = found.state.clusters
    counts = (
        shown_count(len(clusters), "cluster"),
        shown_count(sum(len(each.brokers) for each in clusters), "broker name"),
        shown_count(sum(len(each.topics) for each in clusters), "topic"),
    )
    echo(f"{expected_file}: {', '.join(counts)} as of {shown(found.state.since, zone)}: review it")


@click.command("check", cls=SectionedCommand, context_settings=_SETTINGS)
@expect_option
@click.option(
    "--at", "at_text", metavar="TIME",
    help=f"{AT_HELP} By default now; of servers that do not run, the last instant that is known of all.",
)  # fmt: skip
@click.option(
    "--back", "back_ms", callback=take_duration, default=_DAY, show_default=True, metavar="DURATION",
    help="How long before that time reading begins: of an older deviation the start is not known.",
)  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=100, show_default=True,
    help="Most deviations that are shown.",
)  # fmt: skip
@history_options
@click.pass_context
def check(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, expected_file: str, at_text: str | None, back_ms: int, limit: int,
    journals: tuple[str, ...], warehouse: str | None, zone_name: str | None, as_json: bool,
    session: MakeSession,
) -> None:  # fmt: skip
    """Compare what is there with what must be there, and name every deviation.

    A deviation in a maintenance window is marked as planned. One of less than 5 seconds does not count.

    Ends with 0 if all deviations are planned, 1 if others exist. Ends with 2 for a bad file or journal, and
    with 3 if no deviation is known, but neither is the state of some name server.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        expected = ExpectedFile(expected_file)
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session)
            at = source.instant(at)
            histories = source.histories(at, back_ms)
    except NamekeeperError as error:
        raise failure_of(error) from error
    instant = last_common_instant(histories) if at is None else at
    # The instant counts, also if it is before the file was learned.
    found = deviations(
        structs.replace(expected.state, since=0), histories, {each.namesrv: instant for each in histories}
    )
    windows = WindowsByName(expected.windows)
    present = [
        structs.replace(each, planned=planned_deviation(each, windows, instant)) for each in found.present
    ]
    present.sort(key=lambda each: bool(each.planned))
    named = {name for each in expected.state.clusters for name in each.name_servers}
    beside = [each.namesrv for each in histories if each.namesrv not in named]
    is_later = at is None and expected.state.since > instant
    later = f"nothing is an incident before its `since`, {shown(expected.state.since, zone)}"
    notes = (*source.notes, *expected.notes, *_notes(found, beside, expected_file))
    for text in (*notes, *([f"{expected_file}: {later}"] if is_later else ())):
        note(printable(f"note: {text}"))
    if as_json:
        echo(render_json(_value(present, found, instant, limit)))
    else:
        for line in _lines(present, instant, zone, limit, expected_file):
            echo(line)
    if any(not each.planned for each in present):
        context.exit(EXIT_DEVIATES)
    context.exit(EXIT_NOT_KNOWN if found.unknown else 0)


@click.command("get", context_settings=_SETTINGS)
@expect_option
@click.option("--force", is_flag=True, help="Replace the file if it is there; its content stays in FILE.bak.")
@companion_options(is_required=True)
def get_command(*, expected_file: str, force: bool, **page: Any) -> None:  # noqa: ANN401
    """Write the expected state of a companion to a file. Prints its digest, which `put` wants.

    Ends with 0; 2 if it is refused, or the file can't be written; 3 if the companion does not answer.
    """
    try:
        _refuse_to_overwrite(expected_file, is_forced=force)
        text = _companion(page).asks("/api/expected")
        atomic_replace(expected_file, text)
    except OSError as error:
        raise failure_of(ConfigError(f"{expected_file}: {problem_with(expected_file, error)}")) from error
    except NamekeeperError as error:
        raise failure_of(error) from error
    echo(f"{expected_file}: digest {digest_of(text)[:DIGITS]}")


@click.command("put", context_settings=_SETTINGS)
@expect_option
@click.option(
    "--replaces", "before", required=True, metavar="DIGEST",
    help=f"Digest of the text that was edited, as `get` prints it: at least {DIGITS} digits.",
)  # fmt: skip
@click.option("--why", default="", metavar="TEXT", help="The reason, for the log.")
@companion_options(is_required=True)
def put_command(*, expected_file: str, before: str, why: str, **page: Any) -> None:  # noqa: ANN401
    """Replace the expected state of a companion by a file, unless somebody else has changed it meanwhile.

    Ends with 0; 2 if it is refused, or the file has an error; 3 if the companion does not answer.
    """
    try:
        text = read_named_text(expected_file, limit=FILE_LIMIT)
        parse_expected(text, source=expected_file)
        companion = _companion(page)
        present = digest_of(companion.asks("/api/expected"))
        if len(before) < DIGITS or not present.startswith(before.lower()):
            raise ConfigError(
                f"it has changed: its digest is {present[:DIGITS]} now, and not {printable(before)};"
                " `namekeeper expect get` it again, and repeat your edit"
            )
        sent = SentBody("PUT", text.encode(), "application/toml", {"If-Match": f'"{present}"'})
        companion.asks(f"/api/expected?{urlencode({'why': why})}", sent)
    except NamekeeperError as error:
        raise failure_of(error) from error
    echo(f"{companion.page}: digest {digest_of(text.encode())[:DIGITS]}, in place of {present[:DIGITS]}")


def _companion(options: dict[str, Any]) -> CompanionPage:
    companion = take_companion(options)
    assert companion is not None, "--http is required"
    return companion


def _refuse_to_overwrite(expected_file: str, *, is_forced: bool) -> None:
    if Path(expected_file).exists() and not is_forced:
        raise ConfigError(
            f"{expected_file} is there: compare it by `namekeeper expect check`, or give --force to"
            " replace it"
        )


def _notes(found: Deviations, beside: Sequence[str], expected_file: str) -> Iterator[str]:
    for name in found.unknown:
        yield f"{name} is expected, and its state is not known"
    for name in beside:
        yield f"{name} is in no cluster of {expected_file}: it is not compared"
    if found.unsettled:
        count = shown_count(found.unsettled, "deviation", "do")
        yield f"{count} not count: perhaps a change on its way"


def _lines(
    present: Sequence[Deviation], at: int, zone: Zone, limit: int, expected_file: str
) -> Iterator[str]:
    for each in present[:limit]:
        yield printable(_line(each, zone))
    if len(present) > limit:
        yield f"and {shown_count(len(present) - limit, 'more deviation')}: give --limit {len(present)}"
    planned = sum(bool(each.planned) for each in present)
    when = f"at {shown(at, zone)}"
    if not present:
        yield f"nothing deviates from {expected_file} {when}, as far as is known"
    else:
        count = shown_count(len(present), "deviation")
        yield f"{count} from {expected_file} {when}{f', of which {planned} planned' if planned else ''}"


def _line(one: Deviation, zone: Zone) -> str:
    since = shown_start(one.since, one.window_ms, zone) + ("" if one.is_since_known else " or before")
    cause = cause_text(one.cause, one.peer, one.closed_by)
    planned = f"planned: window {one.planned}" if one.planned else ""
    return "  ".join(filter(None, (deviation_text(one), since, cause, planned)))


def _value(present: Sequence[Deviation], found: Deviations, at: int, limit: int) -> dict[str, Any]:
    return {
        "at": at,
        "at_iso": iso_text(at),
        "deviations": [
            {**to_builtins(each), "since_iso": iso_text(each.since), "text": deviation_text(each)}
            for each in present[:limit]
        ],
        "total": len(present),
        "planned": sum(bool(each.planned) for each in present),
        "unsettled": found.unsettled,
        "unknown": found.unknown,
    }
