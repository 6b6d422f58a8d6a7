"""Values whose constructor suggests the right name for a wrong one, such as `topicName`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import StructMeta

from namekeeper.common.near_names import did_you_mean
from namekeeper.common.spelled_names import unknown_names

__all__ = ["SpelledStruct"]


class SpelledStruct(StructMeta):
    """Metaclass of structs: an unknown field is refused with the one that may be meant.

    `java_names` of the class gives names that differ from Java's by more than the spelling.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **fields: Any) -> Any:  # noqa: ANN401, N805 - a metaclass
            """Make a value."""
            try:
                return super().__call__(*args, **fields)
            except TypeError:
                for name in unknown_names(fields, cls.__struct_fields__):
                    java: Mapping[str, str] = getattr(cls, "java_names", {})
                    near = f": did you mean {java[name]}?" if name in java else None
                    hint = near or did_you_mean(name, cls.__struct_fields__)
                    raise TypeError(f"{cls.__name__} has no setting {name!r}{hint}") from None
                raise
