"""Settings whose constructor suggests the right name for a wrong one, such as `brokerName`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct, StructMeta

from namekeeper.common.near_names import did_you_mean

__all__ = ["SpelledSettings"]


class _Spelled(StructMeta):
    java_names: Mapping[str, str]

    def __call__(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 - whatever the settings take
        known = self.__struct_fields__
        for name in settings:
            if name not in known:
                java = self.java_names.get(name)
                hint = did_you_mean(name, known) if java is None else f": did you mean {java}?"
                raise TypeError(f"{self.__name__} has no setting {name!r}{hint}")
        return super().__call__(*args, **settings)


class SpelledSettings(Struct, frozen=True, metaclass=_Spelled):
    """The base of settings that people write by hand."""

    java_names: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Java's name -> ours, where they differ by more than the spelling."""
