import io

from rich.console import Console

from namekeeper.cli.progress import shown_progress


def test_progress_has_a_bar_for_each_kind_of_work() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with shown_progress(console) as progress:
        progress("topic of h:1", 1, 2)
        progress("topic of h:1", 2, 2)
        progress("member group of h:1", 1, 4)

    assert "topic of h:1" in console.file.getvalue()
    assert "member group of h:1" in console.file.getvalue()
