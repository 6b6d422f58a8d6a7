"""CI has one release of each line: no line is left out."""

from tests.interop.releases import STAND_IN, repeated
from tests.support.java.artifacts import FIVE, VERSIONS


def test_a_test_of_a_release_is_left_out_only_if_it_runs_with_another_release_of_the_line():
    names = ["t[4.8.0]", "t[4.9.7]", "t[go-5.3.3]", "t[go-5.5.0]", "u[4.9.7]", "u[5.5.0]", "v[5.3.3]", "w"]
    assert repeated(names) == {"t[4.9.7]", "t[go-5.3.3]"}


def test_each_release_stands_for_one_of_its_own_line_that_stays():
    assert {*STAND_IN, *STAND_IN.values()} == set(VERSIONS)
    assert not STAND_IN.keys() & set(STAND_IN.values())
    assert all((release in FIVE) == (other in FIVE) for release, other in STAND_IN.items())
