"""Rates of the events in a fleet: `topics=6/h,deaths=1/h`, or the name of a mixture."""

from enum import StrEnum

from namekeeper.errors import ConfigError

__all__ = ["MIXTURES", "ChurnKind", "parse_churn"]


class ChurnKind(StrEnum):
    """Kinds of events."""

    TOPICS = "topics"
    """A topic is created on every broker of a cluster."""
    RESTARTS = "restarts"
    """A broker stops cleanly, and is back soon."""
    STOPS = "stops"
    """A broker stops cleanly, and is away for a while."""
    DEATHS = "deaths"
    """The connections of a broker are cut; it is back later."""
    HANGS = "hangs"
    """A broker stays connected but sends nothing, and is restarted later."""
    FLAPS = "flaps"
    """A broker dies and comes back several times in a row."""
    SWITCHES = "switches"
    """A slave and the master of its name change roles."""
    WIPES = "wipes"
    """The write permission of a broker name is wiped at every name server, and given back later."""
    PARTITIONS = "partitions"
    """A broker can't reach one name server for a while."""


MIXTURES = {
    "none": "",
    "calm": "topics=6/h,restarts=2/h,stops=1/h,deaths=1/h,hangs=9/d,flaps=9/d,switches=9/d,wipes=9/d,"
    "partitions=9/d",
    "busy": "topics=2/m,restarts=1/m,stops=6/h,deaths=9/h,hangs=6/h,flaps=6/h,switches=6/h,wipes=20/h,"
    "partitions=9/h",
    "wild": "topics=20/m,restarts=6/m,stops=2/m,deaths=4/m,hangs=1/m,flaps=2/m,switches=2/m,wipes=3/m,"
    "partitions=2/m",
}
"""Name of a mixture -> its rates."""

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def parse_churn(text: str) -> dict[ChurnKind, float]:
    """Read the rates of events in the whole fleet; kinds that are not named do not happen.

    Returns:
        ChurnKind -> times an hour.

    Raises:
        ConfigError: it can't be read; the message says how to write it.
    """
    rates: dict[ChurnKind, float] = {}
    for item in MIXTURES.get(text.strip(), text).split(","):
        if not item.strip():
            continue
        name, equals, rate = (part.strip() for part in item.partition("="))
        if not equals or name not in set(ChurnKind):
            raise ConfigError(
                f"churn {item.strip()!r} can't be read: write KIND=NUMBER/UNIT, as in topics=6/h, "
                f"with a kind of {', '.join(ChurnKind)}; or one of {', '.join(MIXTURES)}"
            )
        rates[ChurnKind(name)] = _an_hour(item.strip(), rate)
    return rates


def _an_hour(item: str, rate: str) -> float:
    number, _, unit = rate.partition("/")
    times = _number(number)
    if times is None or times < 0 or unit not in _SECONDS:
        raise ConfigError(f"churn {item!r} can't be read: the rate is a number and s, m, h or d, as in 6/h")
    return times * 3_600 / _SECONDS[unit]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number - number == 0 else None  # neither infinite nor NaN
