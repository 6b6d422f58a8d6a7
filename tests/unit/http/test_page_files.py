"""The files of the page."""

from importlib.resources import files

import msgspec

from namekeeper.http.page_files import PAGE_FILES, PAGE_HEADERS, problem


def test_each_file_is_there():
    for package, name, _ in PAGE_FILES.values():
        assert (files(package) / name).is_file()


def test_a_problem_is_a_line_that_the_page_shows():
    answer = problem(421, "not by that name")
    assert answer.status == 421
    assert msgspec.json.decode(answer.body) == {"problem": "not by that name"}
    assert PAGE_HEADERS.items() <= answer.headers.items()
