import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.name_servers import Answered, NameServers, NamesrvChoice
from namekeeper.errors import NoNameServerError, RemotingConnectError, RemotingTimeoutError
from tests.support.server.builders import at
from tests.support.system.fake_time import FakeTime
from tests.support.system.loops import virtual_time
from tests.support.system.waiting import eventually, turns


def choice(*addrs: str, seed: int = 1) -> NamesrvChoice:
    chosen = NamesrvChoice(Random(seed))
    chosen.update(addrs)
    return chosen


def test_without_a_list_nobody_is_asked():
    assert choice().candidates() == ()


def test_the_chosen_one_comes_first_until_it_fails():
    servers = choice("a", "b", "c")
    first = servers.candidates()
    assert set(first) == {"a", "b", "c"}
    assert servers.candidates() == first
    servers.failed(first[0])
    assert servers.candidates() == (first[1], first[2], first[0])


def test_who_answers_stays_chosen():
    servers = choice("a", "b", "c")
    servers.answered("b")
    assert servers.candidates()[0] == "b"
    servers.answered("gone")
    assert servers.chosen == "b"


def test_a_failure_that_was_seen_before_moves_nobody():
    servers = choice("a", "b", "c")
    first = servers.candidates()
    servers.failed(first[0])
    servers.failed(first[0])
    assert servers.chosen == first[1]


def test_the_same_set_in_another_order_changes_nothing_and_an_empty_list_neither():
    servers = choice("a", "b", "c")
    order = servers.candidates()
    assert servers.update(["c", "a", "b", "a"]) == ()
    assert servers.update([]) == ()
    assert servers.candidates() == order


def test_a_new_list_says_who_is_gone_and_clears_the_choice_only_if_it_is_gone():
    servers = choice("a", "b")
    servers.answered("a")
    assert servers.update(["a", "c"]) == ("b",)
    assert servers.chosen == "a"
    assert servers.update(["c", "d"]) == ("a",)
    assert servers.chosen is None
    assert servers.candidates()[0] in ("c", "d")


def test_clients_spread_over_the_name_servers():
    firsts = [choice("a", "b", "c", seed=seed).candidates()[0] for seed in range(300)]
    assert min(firsts.count(addr) for addr in "abc") > 60


@given(st.data())
def test_every_name_server_of_the_list_is_a_candidate_once(data):
    addrs = st.lists(st.sampled_from("abcde"), min_size=1)
    servers = choice(*data.draw(addrs), seed=data.draw(st.integers(0, 99)))
    for _ in range(data.draw(st.integers(0, 6))):
        action = data.draw(st.sampled_from(["update", "failed", "answered"]))
        if action == "update":
            servers.update(data.draw(addrs))
        else:
            getattr(servers, action)(data.draw(st.sampled_from("abcde")))
        candidates = servers.candidates()
        assert sorted(candidates) == sorted(servers.addrs)
        assert candidates[0] == servers.chosen


LONG_MS = 60_000


def refused(addr: str) -> RemotingConnectError:
    return RemotingConnectError(addr, "refused")


class Asked:
    """Answers by address: a value, an error, or None for silence."""

    def __init__(self, **answers: object) -> None:
        self.answers = answers
        self.order: list[str] = []
        self.limits: list[int] = []

    async def __call__(self, addr: str, timeout_ms: int) -> object:
        self.order.append(addr)
        self.limits.append(timeout_ms)
        answer = self.answers[addr]
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            return "late"
        if answer is None:
            await asyncio.sleep(timeout_ms / 1000)
            raise RemotingTimeoutError(addr, "silent")
        if isinstance(answer, Exception):
            raise answer
        return answer


def servers(*addrs: str, released: list[str] | None = None) -> NameServers:
    """They are asked in this order."""
    choice = NamesrvChoice(Random(1))
    made = NameServers(choice, clock=FakeTime(), release=(released if released is not None else []).append)
    made.update(addrs)
    choice.addrs = addrs
    choice.chosen = addrs[0] if addrs else None
    return made


async def test_only_the_chosen_one_is_asked_as_long_as_it_answers():
    asked = Asked(a="yes", b="no")
    namesrvs = servers("a", "b")
    for _ in range(3):
        assert await namesrvs.ask(asked, timeout_ms=LONG_MS) == Answered("a", "yes")
    assert asked.order == ["a"] * 3
    assert asked.limits[0] > LONG_MS - 1_000


async def test_a_failure_is_followed_by_the_next_at_once_which_then_stays():
    asked = Asked(a=refused("a"), b=refused("b"), c="yes")
    namesrvs = servers("a", "b", "c")
    assert (await namesrvs.ask(asked, timeout_ms=LONG_MS)).namesrv_addr == "c"
    assert (await namesrvs.ask(asked, timeout_ms=LONG_MS)).namesrv_addr == "c"
    assert asked.order == ["a", "b", "c", "c"]


@virtual_time
async def test_silence_is_not_waited_for_alone():
    asked = Asked(a=asyncio.Event(), b="yes")
    namesrvs = servers("a", "b")
    assert (await namesrvs.ask(asked, timeout_ms=40)).namesrv_addr == "b"
    assert (await namesrvs.ask(asked, timeout_ms=LONG_MS)).namesrv_addr == "b"
    (first, second) = namesrvs.status()
    assert (first.is_chosen, second.is_chosen) == (False, True)
    assert "before another" in str(first.error)
    assert (first.answered_at, second.answered_at, second.error) == (None, at(0), None)


@virtual_time
async def test_a_slow_one_may_win_while_another_is_asked():
    slow = asyncio.Event()
    asked = Asked(a=slow, b=None)
    namesrvs = servers("a", "b")
    answer = asyncio.ensure_future(namesrvs.ask(asked, timeout_ms=500))
    await eventually(lambda: asked.order == ["a", "b"])
    slow.set()
    assert await answer == Answered("a", "late")


@virtual_time
async def test_when_all_fail_the_error_has_the_reason_of_each():
    asked = Asked(a=refused("a"), b=None)
    with pytest.raises(
        NoNameServerError, match=r"a;b: no name server answered: a: refused; b: silent"
    ) as caught:
        await servers("a", "b").ask(asked, timeout_ms=30)
    assert list(caught.value.failures) == ["a", "b"]


async def test_without_a_list_the_error_says_why_there_is_none():
    namesrvs = servers()
    with pytest.raises(NoNameServerError, match="no name server"):
        await namesrvs.ask(Asked(), timeout_ms=10)
    namesrvs.why_none = RemotingConnectError("http://ns", "away")
    with pytest.raises(NoNameServerError, match="http://ns: away"):
        await namesrvs.ask(Asked(), timeout_ms=10)


async def test_a_bug_is_not_taken_for_a_failure():
    with pytest.raises(ZeroDivisionError):
        await servers("a", "b").ask(Asked(a=ZeroDivisionError(), b="yes"), timeout_ms=LONG_MS)


async def test_who_gives_up_leaves_nothing_running():
    asked = Asked(a=None, b=None)
    before = len(asyncio.all_tasks())
    task = asyncio.ensure_future(servers("a", "b").ask(asked, timeout_ms=LONG_MS))
    await turns()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await turns()
    assert len(asyncio.all_tasks()) == before


async def test_several_can_be_asked_at_once_without_a_change_of_choice():
    asked = Asked(a="yes", b=refused("b"), c="no")
    namesrvs = servers("a", "b", "c")
    answers, failures = await namesrvs.ask_each(["c", "b"], asked, timeout_ms=LONG_MS)
    assert (answers, list(failures)) == ([Answered("c", "no")], ["b"])
    assert namesrvs.status()[0].is_chosen
    assert await namesrvs.ask_each([], asked, timeout_ms=LONG_MS) == ([], {})
    namesrvs.prefer("c")
    assert namesrvs.status()[2].is_chosen


async def test_who_leaves_the_list_is_forgotten_and_its_connection_closed():
    released: list[str] = []
    namesrvs = servers("a", "b", released=released)
    await namesrvs.ask(Asked(a=refused("a"), b="yes"), timeout_ms=LONG_MS)
    namesrvs.update(["b", "c"])
    assert released == ["a"]
    assert {status.addr for status in namesrvs.status()} == {"b", "c"}
    namesrvs.update(["a", "b"])
    assert [status.error for status in namesrvs.status() if status.addr == "a"] == [None]
