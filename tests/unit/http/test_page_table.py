"""What a page is when nothing else is said of it."""

from aiohttp import web

from namekeeper.http.page_table import PROBLEMS, TEXTS, Guard, Page, text_answer


async def answer(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response()


def test_a_page_is_closed_unless_it_says_otherwise():
    assert Page(answer).guard is Guard.JUDGED
    assert Page(answer).body_bytes == 0


def test_methods():
    assert Page(answer).methods == ("GET", "HEAD", "OPTIONS")
    assert Page(answer, method="POST").methods == ("OPTIONS", "POST")


def test_terminals_get_a_line_and_the_page_a_problem():
    assert text_answer(404, "nothing").body == b"nothing\n"
    assert TEXTS.answer(404, "nothing").body == b"nothing\n"
    assert PROBLEMS.answer(404, "nothing").body == b'{"problem":"nothing"}'
