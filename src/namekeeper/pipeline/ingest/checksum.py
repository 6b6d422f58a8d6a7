"""Compares lines of segments with their checksums, in SQL."""

__all__ = ["damage_of"]

_BEGIN = b',"crc":"'
_LENGTH = len(b',"crc":"01234567"}')
"""Length of the end of a line; see `checksum` in the contract."""


def damage_of(line: str) -> str:
    """Why the bytes of a line may be wrong; null if they are right.

    A line without a checksum, as the first writers made them, must be UTF-8, because readers of JSON in a
    column replace other bytes by a mark. If the end has the form of a checksum but another member name, the
    name was altered; only a record of kind `kv` may end like that, with its `key`.

    Args:
        line: The column with the text of the line.
    """
    data = f"cast({line} AS binary)"
    sum_ = f"lower(lpad(hex(crc32(substring({data}, 1, octet_length({line}) - {_LENGTH}))), 8, '0'))"
    is_altered = f"substring({data}, -10) <> cast(concat({sum_}, '\"}}') AS binary)"
    parts = ((-18, b',"'), (-13, b'":"'), (-2, b'"}'))
    has_its_shape = " AND ".join(
        f"substring({data}, {at}, {len(part)}) = {_literal(part)}" for at, part in parts
    )
    return (
        f"CASE WHEN substring({data}, -18, 8) = {_literal(_BEGIN)} THEN if({is_altered}, 'altered', NULL)"
        f" WHEN {has_its_shape} AND substring({data}, -16, 3) <> {_literal(b'key')} THEN 'altered'"
        f" WHEN NOT is_valid_utf8({line}) THEN 'unreadable' END"
    )


def _literal(data: bytes) -> str:
    """Bytes in SQL."""
    return f"X'{data.hex()}'"
