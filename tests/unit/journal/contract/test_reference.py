"""The page of all records is that of the contract."""

from pathlib import Path

from namekeeper.journal.contract.reference import load_contract, render_reference

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "journal.md"


def test_the_page_is_current():
    assert PAGE.read_text() == render_reference(), (
        "python -m namekeeper.journal.contract.reference > docs/reference/journal.md"
    )


def test_every_kind_and_every_member_is_on_it():
    page = render_reference()
    for kind, facts in load_contract()["kinds"].items():
        assert f"### {kind}\n" in page
        assert all(f"| `{name}` |" in page for name in facts["fields"])
