"""Which records come into this process; that their tables are as Spark's is in tests/spark/test_ingest.py."""

import pytest

from namekeeper.pipeline.ingest.few_records import MOST_LINES, MOST_ROW_BYTES, are_few
from namekeeper.pipeline.ingest.segment_lines import TextSize


@pytest.mark.parametrize(
    ("sizes", "few"),
    [
        ([TextSize(None, MOST_LINES, MOST_ROW_BYTES)], True),
        ([TextSize(None, MOST_LINES, 0), TextSize(None, 1, 0)], False),
        ([TextSize(None, 1, MOST_ROW_BYTES), TextSize(None, 1, 1)], False),
        ([TextSize(None, 1, 1), TextSize()], False),
    ],
    ids=["at the limits", "many lines", "many bytes", "a file that ends early"],
)
def test_lines_and_bytes_of_all_segments_count(sizes: list[TextSize], few: bool):
    assert are_few(sizes) is few
