"""What the plots share."""

from zoneinfo import ZoneInfo

from namekeeper.pipeline.report.canvas import LABEL, add_counts, draw_bars, label_of, lanes_figure, x_of
from tests.support.pipeline.report_rows import HOUR, START

BERLIN = ZoneInfo("Europe/Berlin")


def test_labels_are_harmless_and_short():
    assert label_of("a\x1b[2Jb") == "a\\x1b[2Jb"
    assert label_of("a" * LABEL) == "a" * LABEL
    assert label_of("a" * 99) == "a" * (LABEL - 1) + "…"


def test_counts_of_an_hour_are_added():
    assert add_counts([{1: 2, 2: 3}, {2: 4}, {}]) == {1: 2, 2: 7}


def test_a_day_is_one_on_the_axis():
    assert x_of(START + 24 * HOUR, BERLIN) - x_of(START, BERLIN) == 1


def test_the_first_lane_is_on_top_and_a_bar_is_as_long_as_its_row():
    _, axes = lanes_figure(["first", "second"])
    bottom, top = axes.get_ylim()
    assert bottom > top
    draw_bars(axes, 0, [{"valid_from": START, "valid_to": START + 6 * HOUR}], "#010203", BERLIN)
    (box,) = (path.get_extents() for path in axes.collections[0].get_paths())
    assert (box.width, box.y0 < 0 < box.y1) == (0.25, True)
