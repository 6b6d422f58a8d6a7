"""The reference page is made from the properties that there are."""

from pathlib import Path

from namekeeper.config.reference import render_reference
from namekeeper.config.settings import SPECS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"


def test_the_page_is_current():
    assert PAGE.read_text() == render_reference(), (
        "run: python -m namekeeper.config.reference > docs/reference/configuration.md"
    )


def test_every_property_has_a_row_that_says_what_it_is():
    rows = [line for line in render_reference().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(SPECS)
    assert "| `listenPort` | int | `9876` | update | Port for brokers" in render_reference()
    assert "| `scanNotActiveBrokerInterval` | long, ms | `5000` | update |" in render_reference()
    assert "| `logLevel` | `DEBUG`, `INFO`, `WARN`, `ERROR` | `INFO` | update, live |" in render_reference()
    assert "also read as `com.rocketmq.remoting.frameMaxLength`" in render_reference()
