"""docs/compatibility.md: its table is made from the list of differences."""

from pathlib import Path

from tests.differential.differences import DIFFERENCES, NORMALISERS

__all__ = ["PAGE", "page", "write_page"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
BEGIN = "<!-- from tests/differential/differences.py: begin -->"
END = "<!-- from tests/differential/differences.py: end -->"


def write_page() -> None:
    """Write the page anew; what stands outside of the generated part stays."""
    PAGE.write_text(page(PAGE.read_text()))


def page(text: str) -> str:
    """Return the page with its generated part as the list is now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{_tables()}\n{END}{after}"


def _tables() -> str:
    rows = ["| Name | Java 5.5.0 | Namekeeper | Why |", "| --- | --- | --- | --- |"]
    rows += [f"| `{name}` | {d.java} | {d.ours} | {d.reason} |" for name, d in DIFFERENCES.items()]
    lines = [
        "",
        "Values that are normalised before they are compared:",
        "",
        "| Normaliser | What and why |",
        "| --- | --- |",
    ]
    lines += [f"| {name} | {why} |" for name, why in NORMALISERS.items()]
    return "\n".join([*rows, *lines])
