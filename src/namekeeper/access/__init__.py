"""Who may do what: identities, rules and signatures as values; no files, no clock, no sockets."""

__all__: list[str] = []
