"""JSON as fastjson 1 writes it by default: bare numbers as keys of maps with numbers as keys, no nulls."""

import msgspec

__all__ = ["dumps_legacy"]


def dumps_legacy(value: object) -> bytes:
    """Write a value compactly; structs keep the order of their fields (protocol.md 1.11)."""
    return _legacy(msgspec.to_builtins(value, str_keys=False))


def _legacy(value: object) -> bytes:
    if isinstance(value, dict):
        items = [(key, item) for key, item in value.items() if item is not None]
        return b"{%b}" % b",".join(b"%b:%b" % (_legacy_key(key), _legacy(item)) for key, item in items)
    if isinstance(value, (list, tuple)):
        return b"[%b]" % b",".join(map(_legacy, value))
    return msgspec.json.encode(value)


def _legacy_key(key: str | int) -> bytes:
    return b"%d" % key if isinstance(key, int) else msgspec.json.encode(key)
