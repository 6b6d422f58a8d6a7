"""Sockets that speak the remoting protocol: server, client, TLS; knows frames, not their meaning."""

__all__: list[str] = []
