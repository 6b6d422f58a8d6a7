"""Namekeeper: a RocketMQ name server that remembers."""

__all__ = ["__version__"]

__version__ = "0.1.0"
