"""Limits of what a peer may name."""

from namekeeper.errors import RequestError
from namekeeper.wire.codes import ResponseCode

__all__ = ["check_names"]


def check_names(limit: int, **names: str | None) -> None:
    """Refuse names that are longer than anything a real peer sends: they are kept, and sent to others.

    Args:
        limit: nameCharactersLimit.
        names: by what they name, in Python's spelling of the header's field.

    Raises:
        RequestError: One is too long; the remark says which, and by which property it may be longer.
    """
    for field, name in names.items():
        if name is not None and len(name) > limit:
            what = field.replace("_", " ")
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"the {what} has {len(name)} characters; {limit} are allowed (nameCharactersLimit)",
            )
