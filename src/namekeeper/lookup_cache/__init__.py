"""Answers to look-ups by the bytes of their request: kept, learned, forgotten and counted here; no I/O.

`LookupCache` is what the rest of the server uses. `RequestReader` stands in front of the decoder of a
connection and asks it.
"""

__all__: list[str] = []
