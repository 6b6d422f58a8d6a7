"""Request codes by class, as access rules name them; the HTTP pages count as one more code."""

from collections.abc import Mapping
from types import MappingProxyType

from namekeeper.messages.catalogue import CATALOGUE, RequestClass

__all__ = ["CLASSES", "HTTP", "HTTP_PAGES", "TAKING_OVER", "codes_of"]

HTTP = "http"
"""Name of the operators' HTTP pages in rules and metrics."""
HTTP_PAGES = -1
"""The number of the HTTP pages among request codes: they have no code of their own."""

CLASSES: Mapping[int, RequestClass] = MappingProxyType(
    {code: entry.request_class for code, entry in CATALOGUE.items() if entry.request_class is not None}
)
"""Code that a name server handles -> its class. Every peer gets the answer "not supported" for any other
code."""

TAKING_OVER = frozenset(code for code, entry in CATALOGUE.items() if entry.takes_over)
"""Codes of requests that can replace or remove a live broker of another host."""


def codes_of(request_class: RequestClass) -> frozenset[int]:
    """The codes of a class."""
    return frozenset(code for code, its_class in CLASSES.items() if its_class is request_class)
