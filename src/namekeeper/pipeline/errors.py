"""Every exception that the pipeline raises on purpose; each message says what to do.

PipelineError
├── JavaError          no Java that Spark can run on
├── JournalFolderError       a folder, or what lies in it, that can't be taken as journals
│   └── MissingFolderError   it is not there
├── ConflictError      one name server id with two journals that overlap in time
├── QueryError         a user's query that can't be run
└── WarehouseError     a warehouse that can't be used as it is
    └── BusyError      another run holds it
"""

__all__ = [
    "BusyError",
    "ConflictError",
    "JavaError",
    "JournalFolderError",
    "MissingFolderError",
    "PipelineError",
    "QueryError",
    "WarehouseError",
]


class PipelineError(Exception):
    """Root of everything raised on purpose."""


class JavaError(PipelineError):
    """There is no Java that Spark can run on."""


class JournalFolderError(PipelineError):
    """A folder that was given as a journal is none, or can't be read."""


class MissingFolderError(JournalFolderError):
    """A folder that was given as a journal is not there."""


class ConflictError(PipelineError):
    """Two journals claim to be of the same name server at the same time."""


class QueryError(PipelineError):
    """A query of the user that can't be run."""


class WarehouseError(PipelineError):
    """A warehouse that can't be used as it is."""


class BusyError(WarehouseError):
    """Another run works on this warehouse."""
