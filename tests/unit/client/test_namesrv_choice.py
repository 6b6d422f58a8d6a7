from random import Random

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.namesrv_choice import NamesrvChoice


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
