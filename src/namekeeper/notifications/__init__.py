"""Notifications about incidents: which receiver gets what, an outbox that loses none, and ways to send."""

__all__: list[str] = []
