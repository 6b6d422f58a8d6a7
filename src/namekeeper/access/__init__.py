"""Access control as values: identities, rules and signatures; no files, no clock, no sockets."""

__all__: list[str] = []
