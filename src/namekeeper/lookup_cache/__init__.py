"""Lookup answers by the bytes of their request: stored, added, invalidated and counted here; no I/O.

The rest of the server uses `LookupCache`. `RequestReader` stands in front of the decoder of a connection and
queries the cache.
"""

__all__: list[str] = []
