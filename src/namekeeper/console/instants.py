"""The rows that each name server held at an instant, and the rows about which they disagree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.row_changes import Key, Values
from namekeeper.answers.row_versions import RowVersions
from namekeeper.journal.reading.coverage import Knowledge

__all__ = ["RowsHeld", "differs_since", "end_of", "held_by", "since"]


class RowsHeld(Struct, frozen=True):
    """The rows of one name server at an instant; empty if its state is not known."""

    versions: RowVersions
    at: int
    """Wall ms."""
    knowledge: Knowledge
    live: Mapping[Key, Values]
    groups: Mapping[str, Values]
    """Broker name -> its group."""
    topics: Mapping[str, Mapping[str, Values]]
    """Topic -> broker name -> its queues."""

    @property
    def namesrv(self) -> str:
        """Id of the name server."""
        return self.versions.namesrv

    @property
    def has_state(self) -> bool:
        """Whether its state is known."""
        return self.knowledge is Knowledge.KNOWN


def end_of(versions: RowVersions) -> int:
    """The last instant of the known time, wall ms; 0 if there is none."""
    return versions.knows_up_to or 0


def held_by(versions: RowVersions, at: int | None) -> RowsHeld:
    """All rows of a name server at an instant; None is its end."""
    instant = end_of(versions) if at is None else at
    knowledge = versions.knowledge(instant)
    if knowledge is not Knowledge.KNOWN:
        return RowsHeld(versions, instant, knowledge, {}, {}, {})
    topics: dict[str, dict[str, Values]] = {}
    for (_, topic, broker_name), values in versions.rows("topic", instant):
        topics.setdefault(topic, {})[broker_name] = values
    groups = {key[1]: values for key, values in versions.rows("group", instant)}
    return RowsHeld(versions, instant, knowledge, dict(versions.rows("live", instant)), groups, topics)


def since(versions: RowVersions, key: Key, at: int) -> int | None:
    """Since when a live row has its generation, or another row its values; None: from the beginning."""
    found: int | None = None
    wanted: object = None
    for version in reversed(versions.versions(key)):
        if version.event.at > at:
            continue
        mark = None if version.values is None else version.values[-1] if key[0] == "live" else version.values
        if found is not None and mark != wanted:
            break
        wanted, found = mark, version.event.at
    first = versions.knows_from
    return None if found is not None and first is not None and found <= first else found


def differs_since(all_held: Sequence[RowsHeld], keys: Iterable[Key]) -> int | None:
    """Since when name servers whose state is known disagree about rows; None if they agree.

    It is the beginning of the last period in which they differ and all of them are known.
    """
    known = [held for held in all_held if held.has_state]
    wanted = list(keys)
    if len(known) < 2 or not _differ(known, wanted, None):
        return None
    first = max(held.versions.knows_from or 0 for held in known)
    found = min(held.at for held in known)
    for time in sorted(set(_times(known, wanted, found)), reverse=True):
        if time < first or not _differ(known, wanted, time):
            break
        found = time
    return found


def _times(known: Sequence[RowsHeld], keys: Sequence[Key], until: int) -> Iterator[int]:
    for held in known:
        for key in keys:
            yield from (v.event.at for v in held.versions.versions(key) if v.event.at <= until)
        yield from (period.since for period in held.versions.periods() if period.since <= until)


def _differ(known: Sequence[RowsHeld], keys: Sequence[Key], at: int | None) -> bool:
    """Whether the rows differ at a time; None is the instant of each name server."""
    if at is not None and any(held.versions.knowledge(at) is not Knowledge.KNOWN for held in known):
        return False
    shown = [[_shown(held, key, held.at if at is None else at) for key in keys] for held in known]
    return any(each != shown[0] for each in shown[1:])


def _shown(held: RowsHeld, key: Key, at: int) -> Values | None:
    """The values of a row on which name servers can agree: each has its own generations and data versions."""
    version = held.versions.version_at(key, at)
    if version is None or version.values is None:
        return None
    return version.values[:3] if key[0] == "live" else version.values
