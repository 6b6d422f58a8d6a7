"""The oracle of the attacks can fail; and one short attack goes through all of it."""

import pytest

from tests.attacks import __main__ as attacks
from tests.attacks.bystander import Sample, Seen
from tests.attacks.fuzz import Mix
from tests.attacks.rows import ROWS
from tests.attacks.run import Measured, run_row
from tests.attacks.tiers import NOT_IN_CI
from tests.attacks.timing import LIMIT, z_of
from tests.attacks.verdict import HEAD, complaints, line, percentile

ROW = ROWS["5"]


def measured(**more):
    seen = more.pop("seen", Seen([Sample(2.0, 0.001)], [Sample(2.0, 0.5)], [Sample(2.0, 0.01)]))
    values = {
        "held_mib": 50.0,
        "most_mib": 300.0,
        "recovery_seconds": 1.0,
        "stop_seconds": 0.5,
        "complaint": "",
    }
    return Measured(**{"seen": seen, "attack": (1.0, 5.0), **values, **more})


def test_what_is_within_the_limits_is_no_complaint():
    assert complaints(ROW, measured()) == []
    assert line(ROW, measured()).endswith("| - |")
    assert line(ROW, measured()).count("|") == HEAD.splitlines()[0].count("|")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"most_mib": 517.0}, "memory 517 MiB of 516"),
        ({"seen": Seen([Sample(2.0, 0.101)])}, "look-up 101 ms of 100"),
        ({"seen": Seen([Sample(0.5, 0.6)])}, "look-up 600 ms of 100"),
        ({"seen": Seen([Sample(5.5, 0.2)])}, "look-up 200 ms of 100"),
        ({"seen": Seen(registrations=[Sample(2.0, 5.1)])}, "registration 5.1 s of 5"),
        ({"seen": Seen(probes=[Sample(2.0, 2.1)])}, "health page 2.1 s of 2"),
        ({"seen": Seen([Sample(2.0, 0.0, "closed")])}, "1 look-ups failed: closed"),
        ({"stop_seconds": 10.1}, "SIGTERM 10.1 s of 10"),
        ({"stop_seconds": None}, "SIGTERM not obeyed"),
        ({"recovery_seconds": None}, "memory not back in 60 s"),
        ({"complaint": "names stay"}, "names stay"),
    ],
)
def test_what_is_beyond_a_limit_is_said(more, said):
    assert complaints(ROW, measured(**more)) == [said]
    assert said in line(ROW, measured(**more))


def test_limits_of_time_are_stretched_for_a_busy_machine_and_those_of_memory_are_not():
    slow = measured(
        seen=Seen([Sample(2.0, 0.4)], [Sample(2.0, 20)], [Sample(2.0, 9)]), stop_seconds=40, most_mib=517.0
    )
    assert len(complaints(ROW, slow)) == 5
    assert complaints(ROW, slow, patience=5) == ["memory 517 MiB of 516"]
    assert line(ROW, slow, patience=5).endswith("| memory 517 MiB of 516 |")


def test_what_happened_before_the_attack_counts_for_nothing():
    before = Sample(0.1, 0.5)
    seen = Seen([before], probes=[Sample(0.1, 0.1, "not there yet")])
    assert complaints(ROW, measured(seen=seen)) == []
    assert measured(seen=seen).lookups("before") == [before]


def test_time_without_a_processor_is_shown_beside_what_counts():
    sample = Sample(0.5, 0.05, "", 0.6)
    assert measured(seen=Seen([sample])).lookups("during") == [sample], (
        "it was under way when the attack began"
    )
    assert "50.0 / 50 (650)" in line(ROW, measured(seen=Seen([sample])))
    assert complaints(ROW, measured(seen=Seen([sample]))) == []


def test_times_are_compared_in_pairs_and_one_long_time_counts_as_one():
    same = [1.0, 2.0, 3.0, 4.0] * 100
    assert z_of(same, same) == 0.0
    assert z_of(same, same[::-1]) == -z_of(same[::-1], same)
    assert z_of([time + 0.1 for time in same], same) == 20.0
    assert abs(z_of([1_000.0, *same[1:]], same)) < LIMIT


def test_percentiles():
    assert (percentile([], 0.99), percentile([3.0, 1.0, 2.0], 0.5), percentile([1.0], 0.99)) == (
        0.0,
        2.0,
        1.0,
    )


def test_the_parts_are_all_rows_and_each_once(monkeypatch):
    played = []
    monkeypatch.setattr(attacks, "run_row", lambda row, **_: (played.append(row.key), measured())[1])
    for part in ("1/3", "2/3", "3/3"):
        assert attacks.main(["--ci", "--part", part]) == 0
    assert sorted(played) == sorted(key for key in ROWS if key not in NOT_IN_CI)


@pytest.mark.parametrize("part", ["0/2", "3/2", "1/0", "1", "a/b", "-1/2"])
def test_a_part_that_is_none_is_refused(part, capsys):
    with pytest.raises(SystemExit):
        attacks.main([f"--part={part}"])
    assert f"{part} is no part: write 1/2, 2/2 or the like" in capsys.readouterr().err


def test_rows_that_ci_leaves_out_are_rows_and_have_a_reason():
    assert set(NOT_IN_CI) <= set(ROWS)
    assert all(NOT_IN_CI.values())


@pytest.mark.slow
def test_a_short_attack_and_a_short_mix_go_through_the_whole_machinery():
    seen = run_row(ROWS["15"], scale=0.2)
    assert len(seen.lookups("during")) > 10
    assert seen.seen.registrations
    assert seen.stop_seconds is not None
    mix = Mix(1)
    assert run_row(ROWS["15"], onslaught=mix).lookups("during")
    assert len(mix.attacks) >= 4
