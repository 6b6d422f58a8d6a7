"""How often things happen, as people write it."""

import pytest

from namekeeper.errors import ConfigError
from namekeeper.fleet.churn import MIXTURES, ChurnKind, parse_churn, parse_duration


def test_rates_are_an_hour():
    assert parse_churn("topics=6/h, deaths=2/m,stops=1/d,flaps=0.5/s") == {
        ChurnKind.TOPICS: 6,
        ChurnKind.DEATHS: 120,
        ChurnKind.STOPS: pytest.approx(1 / 24),
        ChurnKind.FLAPS: 1800,
    }


@pytest.mark.parametrize("word", MIXTURES)
def test_words_stand_for_mixtures(word):
    rates = parse_churn(word)
    assert set(rates) == (set() if word == "none" else set(ChurnKind))


@pytest.mark.parametrize(
    "wrong", ["topics", "topics=6", "topics=x/h", "topics=6/w", "floods=1/h", "topics=-1/h", "topics=nan/h"]
)
def test_what_can_not_be_read_is_quoted(wrong):
    with pytest.raises(ConfigError, match=wrong):
        parse_churn(f"deaths=1/h,{wrong}")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5_400), ("2d", 172_800), ("7", 7)]
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("wrong", ["", "0", "-1s", "soon", "5w", "infs", "nan"])
def test_what_is_no_duration(wrong):
    with pytest.raises(ConfigError, match="90s"):
        parse_duration(wrong)
