"""The questions and the answers of the tools; their JSON schemas are made of these."""

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from namekeeper.admin.what_if import WhatIf
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.report import NamesrvValue
from namekeeper.answers.incidents.texts import IncidentValue
from namekeeper.answers.render import ExplanationValue, RouteValue
from namekeeper.answers.search import FoundNames
from namekeeper.answers.timeline import EntryValue
from namekeeper.drift.report import DriftValue
from namekeeper.http.watchers import WhoKnows
from namekeeper.mcp.bounds import LeftOut

__all__ = [
    "DriftAnswer",
    "DriftQuestion",
    "Gap",
    "HistoryAnswer",
    "HistoryQuestion",
    "IncidentsAnswer",
    "IncidentsQuestion",
    "NamesrvCoverage",
    "RouteAtAnswer",
    "RouteAtQuestion",
    "SearchAnswer",
    "SearchQuestion",
    "StatusAnswer",
    "StatusQuestion",
    "ToolAnswer",
    "ToolArguments",
    "WhatIfAnswer",
    "WhatIfQuestion",
    "WhoKnowsAnswer",
    "WhoKnowsOne",
    "WhoKnowsQuestion",
    "WhyAnswer",
    "WhyQuestion",
]

R = TypeVar("R")

NAME_CHARACTERS, TIME_CHARACTERS, LIMIT = 1_000, 100, 200
"""Most characters of a name and of a time in a question; most incidents, changes or verdicts in an answer."""
BROKERS = 100
"""Most brokers, and zones, that a question takes away."""

_TIMES = (
    "ISO 8601 with an offset or Z, ms since 1970, a time of day, 'yesterday 03:12', or how long ago: '10m',"
    " '2 hours ago'."
)
Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS)]
Topic = Annotated[Name, Meta(description="Name of the topic, exactly as it is written.")]
Time = Annotated[str, Meta(min_length=1, max_length=TIME_CHARACTERS)]
At = Annotated[
    Time | None,
    Meta(description=f"The time in question; by default now, or the end of what is known. {_TIMES}"),
]
Limit = Annotated[int, Meta(ge=1, le=LIMIT, description="The most that is listed of each kind.")]


class ToolArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values that an assistant gives with a question."""


class StatusQuestion(ToolArguments, frozen=True):
    """No arguments."""


class IncidentsQuestion(ToolArguments, frozen=True):
    """Which incidents."""

    since: Annotated[Time, Meta(description=f"Also those that were over after this time. {_TIMES}")] = (
        "1 day ago"
    )
    limit: Limit = 20


class WhyQuestion(ToolArguments, frozen=True):
    """Which topic, when."""

    topic: Topic
    at: At = None


class HistoryQuestion(ToolArguments, frozen=True, rename={"begin": "from", "end": "to"}):
    """Which changes."""

    name: Annotated[
        Name | None,
        Meta(description="A topic, a broker name, an address (host:port) or a host; by default everything."),
    ] = None
    begin: Annotated[Time, Meta(description=f"Start of the time. {_TIMES}")] = "1 day ago"
    end: Annotated[
        Time | None, Meta(description=f"End of the time; by default the last that is known. {_TIMES}")
    ] = None
    limit: Limit = 50


class RouteAtQuestion(ToolArguments, frozen=True):
    """Which route, when."""

    topic: Topic
    at: At = None


class DriftQuestion(ToolArguments, frozen=True):
    """When, and how many verdicts."""

    at: At = None
    limit: Limit = 20


class WhatIfQuestion(ToolArguments, frozen=True):
    """The brokers that are taken away, and when."""

    without: Annotated[
        list[Name],
        Meta(
            max_length=BROKERS,
            description="Broker names, with all their members, and addresses (host:port) of single members.",
        ),
    ] = []
    without_zones: Annotated[
        list[Name], Meta(max_length=BROKERS, description="All brokers of these zones, too.")
    ] = []
    load: Annotated[
        float,
        Meta(ge=1, description="Name brokers that would have more than so many times their load of today."),
    ] = 1.5
    at: At = None


class SearchQuestion(ToolArguments, frozen=True):
    """A part of a name."""

    text: Annotated[
        str,
        Meta(min_length=1, max_length=NAME_CHARACTERS, description="A part of the name; case is ignored."),
    ]
    since: Annotated[Time, Meta(description=f"Names that were there after this time. {_TIMES}")] = "1 day ago"


class WhoKnowsQuestion(ToolArguments, frozen=True):
    """Which topic."""

    topic: Topic


class Gap(Struct, frozen=True):
    """A time about which a name server's records tell nothing."""

    state: str
    """unknown: records were lost, or it was not observed; stopped: it was not running."""
    begin: int
    """Wall ms."""
    begin_iso: str
    end: int | None
    """Wall ms; null: it goes on."""
    end_iso: str | None


class NamesrvCoverage(Struct, frozen=True):
    """The time about which a name server's records tell something."""

    namesrv: str
    knows_from: int | None
    """Wall ms of the first instant that was read; null: not read for this answer, or there is none."""
    knows_from_iso: str | None
    knows_up_to: int | None
    """Wall ms of the last instant; null: nothing is known."""
    knows_up_to_iso: str | None
    gaps: Sequence[Gap]
    """Gaps within the time that was read."""


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """The members that every answer has."""

    known: Sequence[NamesrvCoverage] = ()
    """Up to when each name server is known, and what is not."""
    notes: Sequence[str] = ()
    """Parts of the records that could not be read."""
    left_out: Sequence[LeftOut] = ()
    ask_for_less: str | None = None
    """How to ask so that nothing is left out; null: nothing was."""


class StatusAnswer(ToolAnswer, frozen=True):
    """The name servers, and how many incidents are open."""

    namesrvs: Sequence[NamesrvValue]
    open_incidents: dict[IncidentKind, int]
    """Kind -> how many are open; kinds without one are left out."""


class IncidentsAnswer(ToolAnswer, frozen=True):
    """The incidents of the present and of lately."""

    namesrvs: Sequence[NamesrvValue]
    open: Sequence[IncidentValue]
    """Incidents with the most topics come first, then the oldest."""
    open_total: int
    recent: Sequence[IncidentValue]
    """Incidents that are over, the newest first."""
    recent_total: int


class WhyAnswer(ToolAnswer, frozen=True):
    """The cause at each name server."""

    topic: str
    is_recorded: bool
    """False: no name server has any record of the topic."""
    similar: Sequence[str]
    """Names of topics that look like one without any record."""
    explanations: Sequence[ExplanationValue]


class HistoryAnswer(ToolAnswer, frozen=True):
    """The changes in a time."""

    name: str | None
    is_recorded: bool
    """False: no name server has any record of the name."""
    similar: Sequence[str]
    """Names that look like one without any record."""
    entries: Sequence[EntryValue]
    """The newest first."""
    total: int
    """Changes in this time."""


class RouteAtAnswer(ToolAnswer, Generic[R], frozen=True):
    """The route at each name server."""

    topic: str
    routes: Sequence[RouteValue[R]]


class DriftAnswer(ToolAnswer, frozen=True):
    """The disagreements of the name servers of one cluster."""

    is_compared: bool
    """False: there are no two name servers to compare."""
    drift: DriftValue


class WhatIfAnswer(ToolAnswer, frozen=True):
    """The topics and brokers that the loss would hurt, at each name server whose state is known."""

    results: Sequence[WhatIf]


class SearchAnswer(ToolAnswer, frozen=True):
    """The names that contain a text, by kind."""

    found: FoundNames


class WhoKnowsOne(Struct, frozen=True):
    """The answer of one name server, or why it has none."""

    namesrv: str
    problem: str | None
    answer: WhoKnows | None


class WhoKnowsAnswer(ToolAnswer, frozen=True):
    """The clients that asked for a topic since its last change."""

    topic: str
    asked_at: int
    """Wall ms: the answers are about this instant."""
    asked_at_iso: str
    answers: Sequence[WhoKnowsOne]
