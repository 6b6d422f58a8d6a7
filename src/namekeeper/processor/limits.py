"""Limits of the names in requests."""

from collections.abc import Collection, Generator
from itertools import islice

from namekeeper.errors import RequestError
from namekeeper.model.registration import RegistrationBody
from namekeeper.wire.codes import ResponseCode

__all__ = ["check_body_names", "check_names"]

NAMES_PER_SLICE = 20_000
"""Names checked in one slice: less than a millisecond."""


def check_names(limit: int, **names: str | None) -> None:
    """Refuse names that are longer than those of any real peer: the server stores them and sends them on.

    Args:
        limit: nameCharactersLimit.
        names: the names by header field, in Python's spelling.

    Raises:
        RequestError: one is too long; the remark names it, and the property that raises the limit.
    """
    for field, name in names.items():
        if name is not None and len(name) > limit:
            what = field.replace("_", " ")
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"the {what} has {len(name)} characters; {limit} are allowed (nameCharactersLimit)",
            )


def check_body_names(limit: int, body: RegistrationBody) -> Generator[None, None, None]:
    """Check the names in a registration's body; yields wherever an event-loop iteration may end.

    Raises:
        RequestError: as `check_names`.
    """
    yield from _check_each(limit, "topic", body.topics)
    yield from _check_each(limit, "topic_key", body.topic_keys or ())
    yield from _check_each(limit, "filter_server", body.filter_servers or ())
    yield from _check_each(limit, "topic_mapping", body.mappings)
    for what in ("topic", "bname", "scope"):
        yield from _check_each(limit, f"mapping_{what}", [getattr(m, what) for m in body.mappings.values()])


def _check_each(limit: int, what: str, names: Collection[str]) -> Generator[None, None, None]:
    rest = iter(names)
    for _ in range(0, len(names), NAMES_PER_SLICE):
        if max(map(len, islice(rest, NAMES_PER_SLICE))) > limit:
            check_names(limit, **{what: max(names, key=len)})
        yield
