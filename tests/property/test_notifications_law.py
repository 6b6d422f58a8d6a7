"""Whatever order incidents, failures of receivers and crashes come in, each receiver gets a correct story.

For each receiver and incident: opened before closed, none lost, and an event again only if no earlier delivery
of it was acknowledged.
"""

from collections import defaultdict
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.notifications.message import EventKind
from namekeeper.notifications.outbox import Outbox
from tests.unit.notifications.seen import (
    ACKNOWLEDGED,
    FAILED,
    START,
    found,
    receiver,
    seen,
    settings_of,
)

GRACE, SECOND = 5_000, 1_000
NAMES = ("a", "b")
RECEIVERS = (receiver("one"), receiver("two", most_per_minute=2))
SETTINGS = settings_of(*RECEIVERS)

Step = tuple[str, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.integers(0, 2)),
        st.tuples(st.just("pass"), st.integers(1, 12)),
        st.tuples(st.sampled_from(["deliver", "fail", "deliver and crash", "crash"]), st.integers(0, 1)),
        st.tuples(st.just("pass"), st.integers(6, 7)),
        st.tuples(st.sampled_from(["close", "reopen"]), st.integers(0, 2)),
        st.tuples(st.just("pass unseen"), st.integers(1, 12)),
    ),
    min_size=20,
    max_size=80,
)
"""The number of a step is a name server, a receiver, or seconds."""


class Story:
    """Incidents as they are, an outbox that is saved, and what arrived."""

    def __init__(self) -> None:
        self.now = START
        self.incidents: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        self.outbox = Outbox()
        self.saved = b""
        self.arrived: dict[str, list[tuple[str, int, bool]]] = {each.name: [] for each in RECEIVERS}
        """Receiver -> incident, sequence number, and whether the delivery was acknowledged."""
        self.last: dict[tuple[str, str], Any] = {}
        """Receiver and name server -> its last event."""
        self.look()

    def look(self) -> None:
        incidents = [
            found(
                f"ns{number}",
                begun,
                ended,
                kind=IncidentKind.NAME_SERVER_DOWN,
                cluster=None,
                name_servers=[f"ns{number}"],
            )
            for number, periods in self.incidents.items()
            for begun, ended in periods
        ]
        self.outbox.tracking.see(seen(*incidents, up_to=self.now), self.now)
        self.outbox.plan(SETTINGS, self.now)
        self.save()

    def save(self) -> None:
        self.saved = msgspec.json.encode(self.outbox)

    def crash(self) -> None:
        self.outbox = msgspec.json.decode(self.saved, type=Outbox)

    def open(self, number: int) -> None:
        periods = self.incidents[number]
        if not periods or (periods[-1][1] is not None and periods[-1][1] < self.now):
            periods.append((self.now, None))

    def close(self, number: int) -> None:
        periods = self.incidents[number]
        if periods and periods[-1][1] is None and periods[-1][0] < self.now:
            periods[-1] = (periods[-1][0], self.now)

    def reopen(self, number: int) -> None:
        """A late record shows that an incident goes on."""
        periods = self.incidents[number]
        if periods:
            periods[-1] = (periods[-1][0], None)

    def attempt(self, number: int, outcome: Any, *, arrives: bool, crashes: bool = False) -> bool:
        to = RECEIVERS[number]
        message = self.outbox.next_message(to, SETTINGS, self.now)
        if message is None:
            return False
        self.save()
        if arrives:
            is_acknowledged = outcome is ACKNOWLEDGED and not crashes
            for each in message.events:
                self.arrived[to.name].append((each.incident, each.sequence, is_acknowledged))
                self.last[to.name, each.incident] = each
        if crashes:
            self.crash()
        else:
            self.outbox.finish(to.name, outcome, self.now)
            self.save()
        return True

    def do(self, step: str, number: int) -> None:
        match step:
            case "open":
                self.open(number)
            case "close":
                self.close(number)
            case "reopen":
                self.reopen(number)
            case "pass unseen":
                self.now += number * SECOND
            case "pass":
                self.now += number * SECOND
                self.look()
            case "deliver":
                self.attempt(number, ACKNOWLEDGED, arrives=True)
            case "fail":
                self.attempt(number, FAILED, arrives=bool(self.now % 2))
            case "deliver and crash":
                self.attempt(number, ACKNOWLEDGED, arrives=True, crashes=True)
            case "crash":
                self.crash()
            case _:
                raise AssertionError(step)

    def rest(self) -> None:
        """Nothing happens any more, and all receivers are up."""
        for _ in range(200):
            self.now += 5 * SECOND
            self.look()
            for number in range(len(RECEIVERS)):
                self.attempt(number, ACKNOWLEDGED, arrives=True)


@given(steps=STEPS)
def test_each_receiver_gets_opened_before_closed_none_is_lost_and_none_twice_after_it_was_acknowledged(
    steps: list[Step],
) -> None:
    story = Story()
    for step, number in steps:
        story.do(step, number)
    story.rest()
    for name, arrived in story.arrived.items():
        acknowledged: set[tuple[str, int]] = set()
        highest: dict[str, int] = {}
        for incident, sequence, is_acknowledged in arrived:
            assert (incident, sequence) not in acknowledged, "sent again after it was acknowledged"
            assert sequence <= highest.get(incident, 0) + 1, "closed before it opened, or a number is missing"
            highest[incident] = max(sequence, highest.get(incident, 0))
            if is_acknowledged:
                acknowledged.add((incident, sequence))
        unacknowledged = {(incident, sequence) for incident, sequence, _ in arrived} - acknowledged
        assert not unacknowledged, "an event was left without an acknowledgement"
        expected = {
            (f"ns{number}", begun): ended is None
            for number, periods in story.incidents.items()
            for begun, ended in periods
            if ended is None or ended - begun >= GRACE
        }
        got = {
            (event.facts.subject, event.facts.from_ts): event.event is EventKind.OPENED
            for (to, _), event in story.last.items()
            if to == name
        }
        assert {key: value for key, value in got.items() if key in expected} == expected
