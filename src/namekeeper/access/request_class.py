"""Request codes by class, as access rules name them; the HTTP pages and planning count as two more codes."""

from collections.abc import Mapping
from types import MappingProxyType

from namekeeper.messages.catalogue import CATALOGUE, RequestClass

__all__ = [
    "CLASSES", "HTTP", "HTTP_PAGES", "PLANNING", "PLANNING_REQUESTS", "TAKING_OVER", "codes_of"
]  # fmt: skip

HTTP = "http"
"""Name of the operators' HTTP pages in rules and metrics."""
HTTP_PAGES = -1
"""The number of the HTTP pages among request codes: they have no code of their own."""
PLANNING = "planning"
"""Name of the requests that write maintenance windows and the expected state, in rules and metrics."""
PLANNING_REQUESTS = -2
"""The number of these requests among request codes: a companion gets them, and no name server."""

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
