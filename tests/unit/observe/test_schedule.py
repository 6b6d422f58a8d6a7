"""What is asked next: periods, the sweep, what is touched, and the budget of all of it."""

import re
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest

from namekeeper.common.durations import shown_duration
from namekeeper.observe.questions import AskConfig, AskKv, AskMembers, AskRoute, AskTopics
from namekeeper.observe.schedule import AT_ONCE, COSTS, Rates, RequestSchedule, cost_us

KV = AskKv("ORDER_TOPIC_CONFIG")
RATES = Rates(budget=0.05)


class Asked:
    """A schedule whose questions are answered at once, in time that passes as it says."""

    def __init__(self, rates=RATES, topics=(), sizes=None, *, is_sweeping=True):
        self.topics = set(topics)
        self.schedule = RequestSchedule(rates, self.topics.__contains__)
        self.schedule.touch(topics)
        if is_sweeping:
            self.schedule.start_sweep()
        self.sizes = {AskMembers: 4, AskTopics: len(self.topics), AskRoute: 4, **(sizes or {})}
        self.now = 1_000
        self.asked = []

    def run(self, ms):
        end = self.now + ms
        while self.now < end:
            found = self.schedule.next(self.now)
            if isinstance(found, int):
                assert found > 0
                self.now = min(end, self.now + found)
                continue
            for question in found:
                self.schedule.sent(question, self.now)
                self.schedule.answered(question, self.sizes.get(type(question), 0))
                self.asked.append((self.now, question))
        return self

    def times(self, question):
        return [at for at, asked in self.asked if asked == question]

    def gaps(self, question):
        times = self.times(question)
        return [after - before for before, after in pairwise(times)]


def test_the_brokers_are_asked_for_first_and_then_the_rest():
    assert [question for _, question in Asked(topics=["t"]).run(500).asked] == [
        AskMembers(), AskTopics(), KV, AskConfig(), AskRoute("t"),
    ]  # fmt: skip


def test_each_kind_has_its_period():
    asked = Asked(topics=["t"]).run(120_000)
    for question, ms in ((AskMembers(), 1_000), (AskTopics(), 2_000), (AskRoute("t"), 5_000), (KV, 10_000)):
        assert max(asked.gaps(question)) <= ms * 1.2
        assert min(asked.gaps(question)) >= ms
    assert min(asked.gaps(AskConfig())) >= 60_000


def test_requests_cost_no_more_than_the_budget():
    topics = [f"t{n}" for n in range(5_000)]
    asked = Asked(topics=topics).run(300_000)
    cost = sum(cost_us(type(question), asked.sizes.get(type(question), 0)) for _, question in asked.asked)
    assert 0.9 * 0.05 * 300_000_000 / 1_000 < cost / 1_000 < 1.02 * 0.05 * 300_000_000 / 1_000
    assert asked.schedule.spent_us == cost


def test_the_brokers_are_asked_for_in_time_whatever_the_rest_costs():
    topics = [f"t{n}" for n in range(100_000)]
    asked = Asked(Rates(budget=0.01), topics=topics).run(120_000)
    assert max(asked.gaps(AskMembers())) <= 1_010


def test_the_sweep_reads_every_topic_within_its_stated_window():
    topics = [f"t{n}" for n in range(2_000)]
    asked = Asked(topics=topics).run(200_000)
    stated = asked.schedule.windows().queues_ms
    for topic in topics[::97]:
        assert asked.times(AskRoute(topic))
        assert max(asked.gaps(AskRoute(topic)), default=0) <= stated


def test_no_topic_is_read_again_before_each_was_read_once():
    """Each other lookup was for a topic that was read already, so the first reading took twice as long."""
    topics = [f"t{n}" for n in range(5_000)]
    asked = Asked(topics=topics, is_sweeping=False)
    needed_ms = asked.schedule.reading_ms(len(topics))
    asked.run(2 * needed_ms)
    routes = [(at, question.topic) for at, question in asked.asked if isinstance(question, AskRoute)]
    assert sorted(topic for _, topic in routes) == sorted(topics)
    assert routes[-1][0] == pytest.approx(1_000 + needed_ms, rel=0.1)
    assert asked.schedule.oldest_ms(asked.now) == 0
    asked.schedule.start_sweep()
    assert asked.schedule.oldest_ms(asked.now) > needed_ms


def test_the_sweep_is_spread_evenly():
    topics = [f"t{n}" for n in range(3_000)]
    asked = Asked(topics=topics).run(60_000)
    each = [0] * 60
    for at, question in asked.asked:
        if isinstance(question, AskRoute):
            each[(at - 1_000) // 1_000] += 1
    assert max(each[1:-1]) <= 2 * min(each[1:-1])


def test_what_is_touched_comes_first_and_the_sweep_goes_on():
    topics = [f"t{n}" for n in range(5_000)]
    asked = Asked(topics=topics).run(60_000)
    touched = topics[:300]
    asked.asked.clear()
    asked.schedule.touch(touched)
    asked.run(3_000)
    found = [question.topic for _, question in asked.asked if isinstance(question, AskRoute)]
    assert set(touched) <= set(found[:640])
    assert len(set(found[:640]) - set(touched)) >= 300


def test_a_doubt_has_the_brokers_and_then_the_topics_asked_for_sooner():
    asked = Asked().run(10_300)
    began = asked.now
    asked.schedule.doubt()
    asked.run(1_100)
    brokers = [at for at in asked.times(AskMembers()) if at >= began]
    topics = [at for at in asked.times(AskTopics()) if at >= began]
    assert brokers[0] - asked.times(AskMembers())[-len(brokers) - 1] < 1_000
    assert topics


def test_doubts_without_end_do_not_have_the_brokers_asked_for_all_the_time():
    asked = Asked().run(10_000)
    asked.asked.clear()
    for _ in range(100):
        asked.schedule.doubt()
        asked.run(100)
    assert min(asked.gaps(AskMembers())) >= 500


def test_topics_that_are_gone_are_not_asked_for():
    asked = Asked(topics=[f"t{n}" for n in range(40)]).run(10_000)
    asked.topics.clear()
    asked.asked.clear()
    asked.run(20_000)
    assert not [question for _, question in asked.asked if isinstance(question, AskRoute)]


def test_at_most_some_topics_are_asked_for_together():
    schedule = Asked(topics=[f"t{n}" for n in range(100)]).run(400).schedule
    found = schedule.next(100_000)
    while len(found) == 1:
        schedule.sent(found[0], 100_000)
        found = schedule.next(100_000)
    assert len(found) == AT_ONCE


def test_what_costs_more_than_its_share_is_asked_less_often():
    topics = [f"t{n}" for n in range(10)]
    asked = Asked(Rates(budget=0.001), topics=topics, sizes={AskTopics: 100_000}).run(1_000_000)
    assert min(asked.gaps(AskTopics())) > 10_000
    assert asked.schedule.windows().topics_ms > 20_000


def test_a_refused_request_is_not_sent_again():
    asked = Asked()
    asked.schedule.drop(AskConfig())
    asked.run(70_000)
    assert not asked.times(AskConfig())
    assert asked.schedule.has_answers


def test_a_request_without_an_answer_is_paid_for():
    schedule = RequestSchedule(RATES, {}.__contains__)
    schedule.next(1_000)
    schedule.sent(AskMembers(), 1_000)
    schedule.failed(AskMembers())
    assert schedule.spent_us > 0
    assert not schedule.has_answers


def test_the_windows_are_the_periods_and_an_answer():
    windows = Asked(topics=["t"]).run(1_000).schedule.windows()
    assert (windows.members_ms, windows.topics_ms, windows.queues_ms) == (6_000, 9_000, 10_000)
    assert (windows.kv_ms, windows.config_ms) == (15_000, 65_000)


@pytest.mark.parametrize("question", [AskMembers(), AskTopics(), AskRoute("t"), AskKv("n")])
def test_a_larger_answer_costs_more(question):
    cost = COSTS[type(question)]
    assert cost_us(type(question), 0) == cost.fixed_us
    assert cost_us(type(question), 1_000) == pytest.approx(cost.fixed_us + 1_000 * cost.each_us)


def test_every_kind_has_a_cost():
    assert set(COSTS) == {AskMembers, AskTopics, AskRoute, AskKv, AskConfig}
    assert all(cost.fixed_us > 0 for cost in COSTS.values())


PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "observe.md").read_text()
MEASURED = re.findall(
    r"^\| ([45][0-9.]+) \| (\d+) \| (\d+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE
)


def test_the_documented_times_of_the_sweep_are_those_of_the_budget():
    rows = [
        (row[1], tuple(each.strip() for each in row[2].split("|")))
        for row in re.finditer(r"^\| ([\d,]+) \| (\S[^|]*(?:\| [^|]+){3}) \|$", PAGE, re.MULTILINE)
    ]
    assert [topics for topics, _ in rows] == ["1,000", "20,000", "100,000"]
    for topics, shown in rows:
        count = int(topics.replace(",", ""))
        found: list[str] = []
        for budget in (0.01, 0.5):
            schedule = RequestSchedule(Rates(budget=budget), lambda _: True)
            sizes = {AskMembers(): 4, AskTopics(): count, KV: 0, AskConfig(): 0, AskRoute("t"): 4}
            for question, size in sizes.items():
                schedule.answered(question, size)
            for number in range(count):
                schedule.sent(AskRoute(f"t{number}"), 0)
            needed_ms = schedule.reading_ms(count), schedule.windows().queues_ms
            found += (shown_duration(ceil(each / 1_000) * 1_000) for each in needed_ms)
        assert shown == tuple(found)


def test_the_costs_are_about_the_highest_that_were_measured():
    kinds = {
        "105": (AskRoute, 0),
        "106": (AskMembers, 0),
        "206": (AskTopics, 1),
        "219": (AskKv, 2),
        "319": (AskConfig, 2),
    }
    highest: dict[tuple[str, int], int] = {}
    for _, code, *numbers in MEASURED:
        *sizes, us = (int(number.replace(",", "")) for number in numbers)
        key = (code, sizes[kinds[code][1]])
        highest[key] = max(highest.get(key, 0), us)
    assert {code for code, _ in highest} == set(kinds)
    for (code, size), us in highest.items():
        assert 0.95 * us <= cost_us(kinds[code][0], size) <= 1.6 * us, (code, size, us)
