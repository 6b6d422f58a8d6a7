"""The reference page of the tables is made from them."""

from pathlib import Path

from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.reference import render_reference
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.units import unit_of

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "warehouse.md"


def test_the_page_is_current():
    assert PAGE.read_text() == render_reference(), (
        "run: python -m namekeeper.pipeline.reference > docs/reference/warehouse.md"
    )


def test_every_table_has_a_section_with_every_column():
    sections = {part.split("\n", 1)[0]: part for part in render_reference().split("\n### ")[1:]}
    assert set(sections) == {*ENTRY_VIEWS, *GOLD, *FACTS}
    for table in (*ENTRY_VIEWS.values(), *GOLD.values(), *FACTS.values()):
        section = sections[table.name]
        assert table.grain in section
        for column in table.columns:
            meaning = column.meaning.replace("|", "\\|")
            row = f"| `{column.name}` | `{column.type}` | {unit_of(column)} | {meaning} |"
            assert row in section.splitlines()
        key = ", ".join(f"`{name}`" for name in table.key)
        assert (f"its key is {key}." if key else "rows have no key.") in section
