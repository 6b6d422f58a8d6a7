"""Classes whose errors suggest the right name for a wrong one, such as `namesrvAddr` or `brokerName`.

People who know RocketMQ's Java library write its names. Names are looked at only after a call has failed, so
calls that are right cost next to nothing.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from namekeeper.common.near_names import did_you_mean, near_names

__all__ = ["SpelledNames", "raise_no_attribute", "unknown_names"]

_ACCESSOR = re.compile(r"(?:get|set|is)(?=[A-Z])")
_BY_NAME = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}

_ELSEWHERE = {
    "start": "it starts with a `with` or `async with` statement",
    "destroy": "did you mean close?",
}
"""Names that do the work of a method of Java's without a similar name here."""


class SpelledNames:
    """The base of classes that programs use: it explains wrong names of methods and of their arguments.

    Args:
        settings: what the constructor takes, and people may spread over the constructor's arguments.
    """

    __slots__ = ()

    def __init_subclass__(cls, *, settings: type | None = None) -> None:
        super().__init_subclass__()
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and (name == "__init__" or not name.startswith("_")):
                setattr(cls, name, _explained(member, cls.__name__, settings))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say which attribute may be meant."""
            raise_no_attribute(self, name)


def raise_no_attribute(value: object, name: str) -> NoReturn:
    """Raise the AttributeError for a name that a value lacks, with the one that may be meant."""
    cls = type(value)
    hint = f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    if not (hint or name.startswith("_")):
        known = [each for each in dir(cls) if not each.startswith("_")]
        hint = did_you_mean(name, known) or did_you_mean(_ACCESSOR.sub("", name), known)
    raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}{hint}", name=name, obj=value)


def unknown_names(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """The names that are not known, in their order."""
    names = set(known)
    return [name for name in given if name not in names]


def _explained(function: FunctionType, owner: str, settings: type | None) -> Callable[..., Any]:
    """The same function, whose error for an unknown argument says which one may be meant."""
    arguments_of = [*signature(function).parameters.values()][1:]
    if any(each.kind is Parameter.VAR_KEYWORD for each in arguments_of):
        return function
    known = [each.name for each in arguments_of if each.kind in _BY_NAME]
    is_making = function.__name__ == "__init__"
    what = owner if is_making else f"{owner}.{function.__name__}()"
    spread = settings if is_making else None

    if iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **arguments: Any) -> Any:  # noqa: ANN401 - what the function takes
            try:
                begun = function(*args, **arguments)
            except TypeError:
                _refuse_unknown(what, arguments, known, spread)
                raise
            return await begun

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **arguments: Any) -> Any:  # noqa: ANN401 - what the function takes
        try:
            return function(*args, **arguments)
        except TypeError:
            _refuse_unknown(what, arguments, known, spread)
            raise

    return called


def _refuse_unknown(what: str, given: Iterable[str], known: Sequence[str], settings: type | None) -> None:
    """Raise the TypeError for an argument that is not known; return if all are: another thing failed."""
    for name in unknown_names(given, known):
        hint = did_you_mean(name, known)
        if not hint and settings is not None:
            near = near_names(name, getattr(settings, "__struct_fields__", ()), most=1)
            hint = f": did you mean {what}({settings.__name__}({near[0]}=...))?" if near else ""
        if not hint and known:
            hint = f": it has {', '.join(known)}"
        raise TypeError(f"{what} has no argument {name!r}{hint}") from None
