"""The tables of docs/discussion/denial-of-service.md that name constants agree with the code.

To add a limit, add a row to a table whose last column is `constant`: `module.NAME` below `namekeeper`, and in the
second column the value as `shown_as` writes it. Nothing needs to change here, but for a module all of whose limits
are to be in a table: it goes into `COMPLETE`.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = Path("docs/discussion/denial-of-service.md").read_text()
COMPLETE = (
    "http.gate",
    "http.listener",
    "http.page_server",
    "http.journal_page",
)
"""Modules all of whose limits are in a table."""
KIB, MIB = 1_024, 1_024 * 1_024


def rows() -> dict[str, str]:
    """Constant -> its limit, of all tables that have both columns."""
    found = re.findall(r"^\| [^|]+ \| ([^|]+) \| [^|]*\| `([\w.]+)` \|$", TEXT, re.MULTILINE)
    return {constant: limit.strip() for limit, constant in found}


def shown_as(name: str, value: float) -> str:
    """A value with its unit, which the name says."""
    if name.endswith("_MS"):
        return f"{value / 1_000:g} s"
    if name.endswith("_SECONDS"):
        return f"{value:g} s"
    if "BYTES" in name and value >= MIB:
        return f"{value // MIB:,} MiB"
    if "BYTES" in name and value >= KIB:
        return f"{value // KIB:,} KiB"
    return f"{value:,}"


def value_of(constant: str) -> float:
    module, _, name = constant.rpartition(".")
    value = getattr(import_module(f"namekeeper.{module}"), name)
    assert isinstance(value, int | float)
    return value


@pytest.mark.parametrize("constant", sorted(rows()))
def test_a_table_has_the_value_that_the_code_has(constant: str) -> None:
    assert rows()[constant] == shown_as(constant, value_of(constant))


@pytest.mark.parametrize("module", COMPLETE)
def test_every_limit_of_the_edge_is_in_a_table(module: str) -> None:
    members = vars(import_module(f"namekeeper.{module}"))
    own = set(
        re.findall(
            r"^([A-Z][A-Z_]+) = ",
            Path(f"src/namekeeper/{module.replace('.', '/')}.py").read_text(),
            re.MULTILINE,
        )
    )
    limits = {f"{module}.{name}" for name in own if isinstance(members[name], int | float)}
    assert limits <= rows().keys()


def test_values_are_shown_with_their_units() -> None:
    shown = [
        shown_as("A_LIMIT", 20_000), shown_as("A_SECONDS", 0.5), shown_as("A_MS", 30_000), shown_as("A_BYTES", 64 * KIB),
        shown_as("A_BYTES", 512), shown_as("BYTES_LIMIT", 3 * MIB),
    ]  # fmt: skip
    assert shown == ["20,000", "0.5 s", "30 s", "64 KiB", "512", "3 MiB"]
