"""How often things happen, as people write it."""

import pytest

from namekeeper.errors import ConfigError
from namekeeper.fleet.churn import MIXTURES, ChurnKind, parse_churn


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
