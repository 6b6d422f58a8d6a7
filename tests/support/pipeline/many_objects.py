"""A store with segments that are made when they are listed, and a count of its answers."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, overload

from pyarrow.fs import FileType

from namekeeper.pipeline.files.arrow_folder import ArrowFolder
from namekeeper.pipeline.files.object_store import ObjectStore

__all__ = ["BOOT", "ManyObjects", "name_of"]

BOOT = 1_772_323_200_000
_RECORDS = 10
"""In each segment."""


class ManyObjects(Sequence[str]):
    """The paths of the objects of a folder, in order; some of them are added."""

    def __init__(self, journals: int, segments: int, *added: str) -> None:
        """Make a folder with so many journals, each with a boot of so many segments; and further paths."""
        self._journals, self._segments = journals, segments
        self._added = sorted(added)
        self.answers = 0
        client: Any = SimpleNamespace(list=self._list)
        store: Any = SimpleNamespace(type_name="s3")
        self.folder = ArrowFolder(
            "s3://k:secret@b/j", store, "b/j", lambda *_: ObjectStore("s3://b/j", client)
        )
        store.get_file_info = lambda _: [
            SimpleNamespace(path=f"b/j/{path}", size=1, mtime_ns=None, type=FileType.File)
            for path in self._after("")
        ]

    def add(self, path: str) -> None:
        """Add an object."""
        self._added = sorted([*self._added, path])

    def __len__(self) -> int:
        return self._journals * self._segments

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        assert isinstance(at, int)
        if at >= len(self):
            raise IndexError
        return name_of(at // self._segments, at % self._segments)

    def _after(self, start: str) -> Iterator[str]:
        added = self._added[bisect_right(self._added, start) :]
        for at in range(bisect_right(self, start), len(self)):
            while added and added[0] < self[at]:
                yield added.pop(0)
            yield self[at]
        yield from added

    def _list(self, offset: str | None, chunk_size: int) -> Iterator[list[dict[str, Any]]]:
        answer = []
        for path in self._after(offset or ""):
            answer.append({"path": path, "size": 1, "last_modified": datetime.fromtimestamp(0, UTC)})
            if len(answer) == chunk_size:
                self.answers += 1
                yield answer
                answer = []
        self.answers += 1
        yield answer


def name_of(journal: int, segment: int, boot: int = BOOT) -> str:
    """Name of a segment by the number of its journal, and its own in the boot."""
    first = segment * _RECORDS + 1
    return f"ns-{journal}-0a1b2c3d-{boot}-{first:012}-{first + _RECORDS - 1:012}.jsonl.gz"
