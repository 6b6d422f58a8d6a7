"""Peers of a server: bytes, frames, proxies and certificates."""
