"""The page of all records is that of the contract."""

from namekeeper.journal.contract.generate import contract
from namekeeper.journal.contract.reference import render_reference


def test_every_kind_and_every_member_is_on_it():
    page = render_reference(contract())
    for kind, facts in contract()["kinds"].items():
        assert f"### {kind}\n" in page
        assert all(f"| `{name}` |" in page for name in facts["fields"])
