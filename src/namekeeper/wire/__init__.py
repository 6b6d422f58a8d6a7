"""Bytes to remoting commands and back; no sockets."""

__all__: list[str] = []
