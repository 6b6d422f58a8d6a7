"""One known bug: a text of the sources, what it is replaced by, and the rule that it breaks."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "SOURCES", "Mutant"]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug that the tests must find."""

    name: str
    file: str
    """Below src/namekeeper."""
    old: str
    """Occurs exactly once in the file."""
    new: str
    rule: str
    """What does not hold any more."""
    tests: tuple[str, ...]
    """Test modules below tests/unit, or single tests as `module::test`; at least one test must fail."""

    @property
    def files(self) -> frozenset[str]:
        """Names of the file that it changes and of its tests, without folders."""
        return frozenset(Path(name.partition("::")[0]).name for name in (self.file, *self.tests))

    def path_in(self, sources: Path) -> Path:
        """The file in a folder of sources."""
        return sources / "namekeeper" / self.file

    def text(self, sources: Path = SOURCES) -> str:
        """The file with the bug in it.

        Raises:
            ValueError: the old text is not there exactly once.
        """
        text = self.path_in(sources).read_text()
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: its text occurs {count} times in {self.file}")
        return text.replace(self.old, self.new)
