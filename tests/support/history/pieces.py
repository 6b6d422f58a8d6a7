"""The records of made-up histories cut into segments, which arrive in some order."""

import random
from collections.abc import Iterable

from tests.support.history.histories import History, Record

__all__ = ["arrivals", "pieces"]


def pieces(records: Iterable[Record], rng: random.Random) -> list[list[Record]]:
    """Records of one name server as segments: of one boot each, and cut behind changes."""
    found: list[list[Record]] = []
    for record in records:
        is_next = bool(found) and bool(found[-1][-1].get("end")) and rng.random() < 0.15
        if not found or is_next or found[-1][-1]["boot"] != record["boot"]:
            found.append([])
        found[-1].append(record)
    return found


def arrivals(some: Iterable[History], rng: random.Random, *, runs: int) -> list[list[Record]]:
    """What each of several runs finds: in order, with some segments late, or without any order."""
    batches: list[list[Record]] = [[] for _ in range(runs)]
    for each in some:
        for records in each.records.values():
            cut = pieces(records, rng)
            manner = rng.choice(("in order", "some late", "any order"))
            for place, piece in enumerate(cut):
                number = place * runs // len(cut)
                if manner == "any order" or (manner == "some late" and rng.random() < 0.2):
                    number = rng.randrange(0 if manner == "any order" else number, runs)
                batches[number] += piece
    for batch in batches:
        rng.shuffle(batch)
    return batches
