"""Settings whose constructor suggests the right name for a wrong one, such as `brokerName`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NoReturn

from msgspec import Struct

from namekeeper.common.spelled_names import raise_no_attribute
from namekeeper.model.spelled_struct import SpelledStruct

__all__ = ["SpelledSettings"]


class SpelledSettings(Struct, frozen=True, metaclass=SpelledStruct):
    """The base of settings that people write."""

    java_names: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Java's name -> ours, where they differ by more than the spelling."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say which setting may be meant."""
            raise_no_attribute(self, name)
