"""Every kind of record."""

from namekeeper.journal.contract.activity import ACTIVITY_KINDS
from namekeeper.journal.contract.record import SERVER_KINDS, STATE_KINDS, Record

__all__ = ["KINDS"]

KINDS: tuple[type[Record], ...] = (*SERVER_KINDS, *STATE_KINDS, *ACTIVITY_KINDS)
"""Every kind, in the order of the contract."""
