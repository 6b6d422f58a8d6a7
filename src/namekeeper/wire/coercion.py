"""Converts plain JSON values to the type of a field, as fastjson does (protocol.md 1.11)."""

import msgspec
from msgspec import inspect

__all__ = ["coerce", "scalar_text"]

_ITEMS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_NUMBERS = (inspect.IntType, inspect.FloatType, inspect.BoolType)


def coerce(value: object, as_type: type) -> object:
    """Return `value` in a form that `msgspec.convert` accepts for `as_type` wherever fastjson would.

    Numbers and booleans become strings where a string is needed. Members are left out, so that they get their
    default: `null` and `""` where a number is needed, and `null` wherever it isn't allowed.
    """
    return _coerce(value, inspect.type_info(as_type))


def scalar_text(value: object) -> object:
    """Return a number or boolean as the text that Java makes of it, anything else unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return value


def _coerce(value: object, shape: inspect.Type) -> object:
    if isinstance(shape, inspect.UnionType):
        return _coerce_union(value, shape)
    if isinstance(shape, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in shape.fields}
        return _present(
            {key: _coerce(item, fields[key]) for key, item in value.items() if key in fields}, fields
        )
    if isinstance(shape, inspect.DictType) and isinstance(value, dict):
        coerced = {key: _coerce(item, shape.value_type) for key, item in value.items()}
        return _present(coerced, dict.fromkeys(coerced, shape.value_type))
    if isinstance(shape, _ITEMS) and isinstance(value, list):
        return [_coerce(item, shape.item_type) for item in value if item is not None]
    return _coerce_scalar(value, shape)


def _coerce_union(value: object, shape: inspect.UnionType) -> object:
    """Coerce to the one member besides None; a union of more members is left to msgspec."""
    members = [member for member in shape.types if not isinstance(member, inspect.NoneType)]
    return _coerce(value, members[0]) if len(members) == 1 and value is not None else value


def _coerce_scalar(value: object, shape: inspect.Type) -> object:
    if isinstance(shape, inspect.StrType):
        return scalar_text(value)
    if isinstance(shape, inspect.RawType):
        return msgspec.Raw(msgspec.json.encode(value))
    return None if value == "" and isinstance(shape, _NUMBERS) else value


def _present(members: dict[str, object], shapes: dict[str, inspect.Type]) -> dict[str, object]:
    """Leave out members that are None where their shape doesn't allow it."""
    return {key: item for key, item in members.items() if item is not None or _is_optional(shapes[key])}


def _is_optional(shape: inspect.Type) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(isinstance(member, inspect.NoneType) for member in shape.types)
    return isinstance(shape, (inspect.AnyType, inspect.NoneType))
