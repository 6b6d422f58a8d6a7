"""The journal: every change of the tables is written to files, from which the tables can be made again.

`contract` says what a record is. `recording` makes records on the event loop, `queue` passes them to the
writer's thread, and `disk` writes them to files. `reading` makes states and reports from files. `journal.py`
connects `recording` and `disk` in a running server (docs/decisions/0011).
"""

__all__: list[str] = []
