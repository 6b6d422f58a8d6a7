"""The deviations at one name server, as periods."""

from namekeeper.answers.incidents.deviation import DeviationKind
from namekeeper.expected.namesrv_comparison import DeviationPeriod, DeviationValue, NamesrvComparison
from namekeeper.expected.state import ExpectedState
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import align_ends
from tests.unit.expected.seeds import SLAVE_A, fleet, learned, reregisters

SETTLED_MS = 10_000
LACKS_ITS_SLAVE = DeviationValue(DeviationKind.MEMBER_MISSING, None, "broker-a", "0, 1", "0")


def compared(expected: ExpectedState, story: Story) -> tuple[NamesrvComparison, list[DeviationPeriod]]:
    comparison = NamesrvComparison(story.history(), expected, story.now, SETTLED_MS)
    return comparison, list(comparison.periods(expected.clusters[0]))


def test_a_deviation_has_its_period_and_the_change_that_began_it():
    stories = fleet(1)
    expected, (story,) = learned(stories), stories
    gone = story.connection_breaks(SLAVE_A)
    story.later(60_000)
    reregisters(story, SLAVE_A)
    back = story.now
    align_ends(stories)
    comparison, (period,) = compared(expected, story)
    assert (period.what, period.namesrv) == (LACKS_ITS_SLAVE, "ns-1")
    assert (period.since, period.to, period.is_since_known) == (gone, back, True)
    assert period.event is not None
    assert (period.event.at, period.event.cause) == (gone, "channel_closed")
    assert comparison.is_settled(period)


def test_what_lasts_goes_on_beyond_the_end_and_is_settled_after_a_while():
    stories = fleet(1)
    expected, (story,) = learned(stories), stories
    story.connection_breaks(SLAVE_A)
    for after_ms, is_settled in ((SETTLED_MS - 2_000, False), (4_000, True)):
        align_ends(stories, after_ms)
        comparison, (period,) = compared(expected, story)
        assert period.what == LACKS_ITS_SLAVE
        assert period.to > story.now
        assert comparison.is_settled(period) is is_settled


def test_where_nothing_is_known_nothing_deviates():
    stories = fleet(1)
    expected, (story,) = learned(stories), stories
    story.connection_breaks(SLAVE_A)
    align_ends(stories)
    later = ExpectedState(story.now + 1, expected.clusters)
    assert compared(later, story)[1] == []
