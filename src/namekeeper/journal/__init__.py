"""The journal: files with every change of the tables, from which a reader can rebuild the tables.

`contract` defines the records. `recording` makes records on the event loop, `queue` passes them to the
writer's thread, and `disk` writes them to files. `reading` makes states and reports from files. `journal.py`
connects `recording` and `disk` in a running server (docs/decisions/0011).
"""

__all__: list[str] = []
