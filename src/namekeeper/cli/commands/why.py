"""`namekeeper why`: the cause of "No route info of this topic" at each name server, with facts."""

import click

from namekeeper.answers.explain import explain, is_unknown_topic
from namekeeper.answers.render import explanation_lines, explanations_json
from namekeeper.answers.verdict import Verdict
from namekeeper.cli.durations import take_duration
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NO_SUCH_NAME,
    EXIT_NOT_KNOWN,
    history_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.common.near_names import did_you_mean
from namekeeper.errors import NamekeeperError

__all__ = ["why"]

_NOT_KNOWN = {Verdict.NOT_YET, Verdict.BEFORE, Verdict.UNKNOWN}


@click.command("why", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("topic")
@click.option(
    "--at", "at_text", metavar="TIME",
    help=f"{AT_HELP} By default now; of a server that does not run, its last record.",
)  # fmt: skip
@click.option(
    "--back", "back_ms", callback=take_duration, default="1 day", show_default=True, metavar="DURATION",
    help="How long before that time reading begins; everything is read if that does not show the cause.",
)  # fmt: skip
@history_options
@click.pass_context
def why(  # noqa: PLR0913 - one for each option
    context: click.Context, /, topic: str, *, at_text: str | None, back_ms: int, journals: tuple[str, ...],
    warehouse: str | None, zone_name: str | None, as_json: bool, session: MakeSession,
) -> None:  # fmt: skip
    """Show why TOPIC had no route: the cause at each name server, and the facts.

    Exits with 0 if at least one name server knows, 3 if none does, 4 if none has any record of the topic.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session, back_ms=back_ms)
            at = source.instant(at)
            evidence = source.evidence(topic, at)
            explanations = explain(evidence, at)
            is_unknown = is_unknown_topic(evidence, explanations)
            near = did_you_mean(topic, source.topics()) if is_unknown else ""
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in source.notes:
        note(f"note: {text}")
    if as_json:
        echo(explanations_json(explanations))
    else:
        echo("\n\n".join("\n".join(explanation_lines(each, zone)) for each in explanations))
    if all(each.verdict in _NOT_KNOWN for each in explanations):
        context.exit(EXIT_NOT_KNOWN)
    if is_unknown:
        note(f"there is no record of a topic {topic!r}{near}")
        context.exit(EXIT_NO_SUCH_NAME)
