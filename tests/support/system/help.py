"""What a library shows to `help()`."""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType

__all__ = ["public", "references_in_help"]

_REFERENCE = re.compile(r"\.md\b|\btrap T\d|\bdecision \d")


def public(kind: type) -> set[str]:
    """Names of the methods and properties of a class."""
    return {name for name in dir(kind) if not name.startswith("_")}


def references_in_help(package: ModuleType) -> Iterator[tuple[str, str]]:
    """Public names whose help refers to documents, which are not in a wheel, with the reference."""
    for name in package.__all__:
        found = getattr(package, name)
        inside = [getattr(found, each) for each in public(found)] if inspect.isclass(found) else []
        for each in (found, *inside):
            text = inspect.getdoc(each) or ""
            for reference in _REFERENCE.findall(text):
                yield f"{name}.{getattr(each, '__name__', '')}", reference
