"""The sections of the report in their order; makes the report from their answers."""

from collections.abc import Iterable, Mapping, Sequence

from namekeeper.pipeline.report.period import period_of
from namekeeper.pipeline.report.sections.availability import AVAILABILITY
from namekeeper.pipeline.report.sections.capacity import CAPACITY
from namekeeper.pipeline.report.sections.changes import CHANGES
from namekeeper.pipeline.report.sections.drift import DRIFT
from namekeeper.pipeline.report.sections.flaps import FLAPS
from namekeeper.pipeline.report.sections.incidents import INCIDENTS
from namekeeper.pipeline.report.sections.topics import TOPICS
from namekeeper.pipeline.report.sections.unknown_topics import UNKNOWN_TOPICS
from namekeeper.pipeline.report.specification import SectionSpec
from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import Answers, Report, Row

__all__ = ["BOOTS", "SECTIONS", "make_report", "times_of_boots"]

SECTIONS: Mapping[str, SectionSpec] = {
    spec.name: spec
    for spec in (INCIDENTS, AVAILABILITY, TOPICS, FLAPS, DRIFT, CAPACITY, CHANGES, UNKNOWN_TOPICS)
}

BOOTS = "boots"
"""Name of the rows of `name_server_session` among the answers."""


def make_report(
    zone: str,
    sections: Iterable[str],
    answers: Answers,
    wanted: tuple[str | None, str | None] = (None, None),
    warehouse: str = "",
) -> Report:
    """The report that answers make.

    Args:
        zone: Time zone of the days.
        sections: Names of the sections that it has.
        answers: By the names of their questions: `BOOTS`, and those of the sections.
        wanted: The first and the last requested day; None: all days.
        warehouse: Where the tables are.
    """
    boots = answers[BOOTS].rows if BOOTS in answers else ()
    times = times_of_boots(boots)
    days = None
    if times:
        first, last = wanted
        days = (first or shown_time(min(times), zone)[:10], last or shown_time(max(times), zone)[:10])
    made = [SECTIONS[name].make(answers, zone) for name in sections]
    return Report(zone, days, period_of(times, wanted, zone), _name_servers(boots), made, warehouse)


def times_of_boots(boots: Iterable[Row]) -> list[int]:
    """The first and the last instant of each boot of a name server."""
    return [time for boot in boots for time in (boot["first_ts"], boot["knows_up_to"])]


def _name_servers(boots: Sequence[Row]) -> list[Row]:
    found: list[Row] = []
    for name in sorted({boot["namesrv"] for boot in boots}):
        own = sorted((boot for boot in boots if boot["namesrv"] == name), key=lambda boot: boot["boot"])
        found.append(
            {
                "namesrv": name,
                "boots": len(own),
                "knows_up_to": own[-1]["knows_up_to"],
                "ended_by": own[-1]["ended_by"],
                "losses": sum(boot["losses"] for boot in own),
                "unknown_ms": sum(boot["unknown_ms"] for boot in own),
            }
        )
    return found
