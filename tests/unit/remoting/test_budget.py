from hypothesis import given
from hypothesis import strategies as st

from namekeeper.remoting.budget import BodyBudget, BudgetClaim

MIB = 1 << 20


def _nothing() -> None:
    pass


def test_what_fits_is_granted_at_once():
    budget = BodyBudget(10)
    assert budget.ask(4, _nothing).is_granted
    assert budget.ask(6, _nothing).is_granted
    assert budget.in_flight == 10
    assert not budget.ask(1, _nothing).is_granted


def test_waiters_are_granted_in_the_order_of_asking_also_if_a_later_one_would_fit():
    budget, granted = BodyBudget(10), []
    first = budget.ask(8, _nothing)
    budget.ask(9, lambda: granted.append("large"))
    budget.ask(1, lambda: granted.append("small"))
    assert granted == []
    first.release()
    assert granted == ["large", "small"]
    assert budget.in_flight == 10


def test_a_waiter_that_gives_up_makes_room_for_the_next():
    budget, granted = BodyBudget(10), []
    budget.ask(5, _nothing)
    large = budget.ask(10, lambda: granted.append("large"))
    budget.ask(5, lambda: granted.append("small"))
    large.release()
    assert granted == ["small"]
    assert budget.waiting == 0


def test_releasing_twice_gives_back_once():
    budget = BodyBudget(10)
    claim, _other = budget.ask(5, _nothing), budget.ask(5, _nothing)
    claim.release()
    claim.release()
    assert budget.in_flight == 5


def test_more_than_the_whole_budget_is_admitted_alone():
    budget, granted = BodyBudget(10), []
    small = budget.ask(1, _nothing)
    budget.ask(1_000, lambda: granted.append("huge"))
    assert granted == []
    small.release()
    assert granted == ["huge"]
    assert budget.in_flight == 10


def test_moderate_frames_have_room_that_large_ones_never_take():
    budget, granted = BodyBudget(4 * MIB), []
    assert budget.ask(3 * MIB, _nothing).is_granted
    budget.ask(2 * MIB, lambda: granted.append("large"))
    assert budget.ask(MIB, _nothing).is_granted
    assert budget.in_flight == 4 * MIB
    assert granted == []


def test_the_peer_that_holds_least_is_next():
    budget, granted = BodyBudget(10), []
    first = budget.ask(5, _nothing, peer="a")
    budget.ask(5, _nothing, peer="a")
    for _ in range(3):
        budget.ask(5, lambda: granted.append("a"), peer="a")
    budget.ask(5, lambda: granted.append("b"), peer="b")
    first.release()
    assert granted == ["b"]


def test_a_known_broker_passes_strangers():
    budget, granted = BodyBudget(10), []
    first = budget.ask(10, _nothing, peer="a")
    budget.ask(10, lambda: granted.append("stranger"), peer="b")
    budget.ask(10, lambda: granted.append("known"), peer="a", has_broker=True)
    first.release()
    assert granted == ["known"]


def test_who_wasted_room_waits_longer_until_nobody_waits():
    budget, granted = BodyBudget(10), []
    first = budget.ask(10, _nothing, peer="a")
    again = budget.ask(10, lambda: granted.append("a"), peer="a")
    other = budget.ask(10, lambda: granted.append("b"), peer="b")
    assert first.is_wanted
    first.waste()
    first.waste()
    assert granted == ["b"]
    other.release()
    assert granted == ["b", "a"]
    assert not again.is_wanted


class Peer(str):
    """A host that counts how often it is looked at."""

    __slots__ = ()
    looked_at = 0

    def __hash__(self) -> int:
        Peer.looked_at += 1
        return super().__hash__()


def test_the_end_of_a_claim_looks_at_no_other_claims_of_its_peer():
    budget, peer = BodyBudget(10), Peer("a")
    claims = [budget.ask(10, _nothing, peer=peer) for _ in range(1_000)]
    for first in (0, 500):  # one that is granted, and one that waits
        before = Peer.looked_at
        claims[first].release()
        assert Peer.looked_at - before < 100
    assert claims[1].is_granted
    assert budget.waiting == 997


@given(st.lists(st.integers(1, 15) | st.integers(-5, -1), max_size=40))
def test_the_bound_holds_and_nobody_is_forgotten(steps: list[int]):
    budget = BodyBudget(10)
    claims: list[BudgetClaim] = []
    for step in steps:
        if step > 0:
            claims.append(budget.ask(step, _nothing))
        elif claims:
            claims.pop(step % len(claims)).release()
        granted = [claim for claim in claims if claim.is_granted]
        assert budget.in_flight == sum(claim.size for claim in granted) <= 10
        assert budget.waiting == len(claims) - len(granted)
        assert granted == claims[: len(granted)]  # first come, first served
        assert len(granted) == len(claims) or budget.in_flight + claims[len(granted)].size > 10
