"""Lines for whoever starts a server are marked, the others are not."""

import logging

from namekeeper.common.on_console import ON_CONSOLE, is_on_console


def test_a_line_is_marked_where_it_is_logged(caplog):
    logging.getLogger("namekeeper").warning("a", extra=ON_CONSOLE)
    logging.getLogger("namekeeper").warning("b")
    assert [is_on_console(record) for record in caplog.records] == [True, False]
