import pytest

from namekeeper.admin.views import first_line


@pytest.mark.parametrize(
    ("remark", "line"),
    [
        ("disable", "disable"),
        ("No route\nSee https://x", "No route"),
        ("\n  request type 9 not supported ", "request type 9 not supported"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("  ", "no remark"),
        ("", "no remark"),
        (None, "no remark"),
    ],
)
def test_a_remark_is_cut_to_a_line_that_a_terminal_can_bear(remark: str | None, line: str) -> None:
    assert first_line(remark) == line
