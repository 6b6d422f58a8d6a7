"""Words of the evidence that have a view of their own: brokers, and peers that asked for something."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, LiveKey

__all__ = ["broker_words", "evidence_links"]

_BETWEEN = re.compile(r"[\s,;()]+")
_ADDRESS = re.compile(r"(?:\S+@)?\S+:\d+")
"""`host:port`, or `user@host:port`."""


def broker_words(histories: Iterable[History]) -> set[str]:
    """The names and addresses of all brokers, at any time."""
    found: set[str] = set()
    for each in histories:
        found |= {key.broker_name for key in each.keys(GroupKey)}
        found |= {key.broker_addr for key in each.keys(LiveKey)}
    return found


def evidence_links(explanations: Iterable[Mapping[str, Any]], brokers: Collection[str]) -> dict[str, str]:
    """Word -> `broker` or `peer`: what it names, for each word of the explanations that names one.

    Args:
        explanations: as `explanation_values` gives them.
        brokers: names and addresses of brokers.
    """
    found: dict[str, str] = {}
    for word in _words(explanations):
        if word in brokers:
            found[word] = "broker"
        elif _ADDRESS.fullmatch(word):
            found[word] = "peer"
    return found


def _words(explanations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for explanation in explanations:
        for text in (explanation["summary"], *(fact["text"] for fact in explanation["facts"])):
            for word in _BETWEEN.split(text):
                yield word.removesuffix(":")
