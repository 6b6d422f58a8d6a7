"""`identity.json`: the id and the UUID of a journal, written when its folder is first used."""

import os
from pathlib import Path

import msgspec

from namekeeper.errors import JournalError
from namekeeper.files import Os, read_own_file, replace_own_file
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.names import is_valid_id

__all__ = ["IDENTITY_FILE", "Identity", "is_valid", "load_identity", "save_identity"]

IDENTITY_FILE = "identity.json"


class Identity(msgspec.Struct, frozen=True):
    """The name server that writes a journal."""

    namesrv: str
    """Id of the name server in reports and in the tables of the pipeline."""
    uuid: str
    """Random, made with the folder: it tells apart two folders with the same id."""

    @property
    def uuid8(self) -> str:
        """The first eight digits, which are in the names of segments."""
        return self.uuid[:8]


def load_identity(folder: str, *, system: Os = os) -> Identity | None:
    """Read the identity of a folder; None if it has none.

    Raises:
        JournalError: Its content is not valid.
        OSError: It can't be read.
    """
    path = str(Path(folder) / IDENTITY_FILE)
    data = read_own_file(path, system=system)
    if data is None:
        return None
    try:
        identity = msgspec.json.decode(data, type=Identity)
    except UNREADABLE_JSON as error:
        raise JournalError(_invalid(path, str(error))) from None
    if not is_valid(identity):
        raise JournalError(_invalid(path, "the id or the UUID has a wrong form"))
    return identity


def save_identity(folder: str, identity: Identity, *, system: Os = os) -> None:
    """Write the identity of a folder that has none.

    Raises:
        OSError: It can't be written.
    """
    data = msgspec.json.encode(identity) + b"\n"
    replace_own_file(str(Path(folder) / IDENTITY_FILE), data, system=system)


def is_valid(identity: Identity) -> bool:
    """Whether the id and the UUID have the right form."""
    return is_valid_id(identity.namesrv) and _is_uuid(identity.uuid)


def _is_uuid(text: str) -> bool:
    groups = text.split("-")
    return list(map(len, groups)) == [8, 4, 4, 4, 12] and all(
        set(group) <= set("0123456789abcdef") for group in groups
    )


def _invalid(path: str, why: str) -> str:
    return (
        f"{path} is not valid ({why}): restore it from a copy, or write it again with the id and the UUID"
        " in the server_started records of its segments"
    )
