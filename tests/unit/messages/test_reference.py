"""The reference page is made from the requests that there are."""

import re
from pathlib import Path

from namekeeper.messages.catalogue import CATALOGUE
from namekeeper.messages.reference import render_reference
from namekeeper.wire.codes import RequestCode, ResponseCode

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "requests.md"


def test_the_page_is_current():
    assert PAGE.read_text() == render_reference(), (
        "run: python -m namekeeper.messages.reference > docs/reference/requests.md"
    )


def test_every_request_has_a_section_that_the_overview_points_to():
    page = render_reference()
    sections = re.findall(r"^## (\d+) (\w+)$", page, re.MULTILINE)
    assert sections == [(str(int(code)), code.name) for code in sorted(RequestCode)]
    anchors = re.findall(r"\(#([\w-]+)\)", page)
    assert anchors == [f"{code}-{name}".lower() for code, name in sections]
    for entry in CATALOGUE.values():
        assert (entry.difference or "") in page


def test_every_code_that_is_answered_is_explained():
    rows = re.findall(r"^\| (\w+) \| (\d+) \|", render_reference(), re.MULTILINE)
    sent = set(ResponseCode) - {ResponseCode.SYSTEM_BUSY}  # Java's full queues; there are none here
    assert {(name, int(code)) for name, code in rows} == {(code.name, code.value) for code in sent}


def test_fields_have_their_names_on_the_wire_their_types_and_whether_they_must_be_there():
    sections = {int(part.split()[0]): part for part in render_reference().split("\n## ")[2:]}
    assert "* `haServerAddr`: string, may be empty, required\n" in sections[103]
    assert "* `bodyCrc32`: int; one that can't be read counts as its default, default 0\n" in sections[103]
    assert "* `topic`: string\n" in sections[105]
    assert "* `acceptStandardJsonOnly`: boolean, default false\n" in sections[105]
    assert "* `__ZONE_NAME`: string\n" in sections[105]
    assert "* Answer: no fields, no body.\n" in sections[904]
    assert "Sent by the name server" in sections[905]
