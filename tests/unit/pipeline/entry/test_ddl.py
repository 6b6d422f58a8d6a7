"""Statements that make views: whose tables and views they read, and what they don't need of a session."""

from namekeeper.pipeline.entry.ddl import ddl_of_views
from namekeeper.pipeline.entry.views import VIEWS


def test_a_view_reads_tables_of_the_catalog_and_views_of_its_own_namespace():
    (statement,) = ddl_of_views(["day_status"], "nk.name-keeper", "UTC", "nk.views")
    assert statement.startswith("CREATE OR REPLACE VIEW `nk`.`views`.`day_status` (\n  `day` COMMENT 'Day in")
    assert "FROM `nk`.`name-keeper`.`name_server_session`" in statement
    assert "JOIN `nk`.`views`.`dim_day` d" in statement
    assert "JOIN newest n" in statement
    (temporary,) = ddl_of_views(["day_status"], "nk.t", "UTC", None)
    assert temporary.startswith("CREATE OR REPLACE TEMPORARY VIEW `day_status` (")
    assert "JOIN `dim_day` d" in temporary


def test_a_statement_has_neither_parameters_nor_functions_of_a_session_nor_lines_of_comments():
    for statement in ddl_of_views(VIEWS, "nk.t", "it's", None):
        assert not [word for word in (":zone", "day_of", "--", "{") if word in statement], statement
        assert "convert_timezone" not in statement or "'UTC', 'it\\'s'" in statement
