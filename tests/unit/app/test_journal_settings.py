"""A server's settings say where its journal is and how it is kept."""

import pytest

from namekeeper.app.journal_settings import check_names, journal_folder, journal_settings, writer_settings
from namekeeper.errors import ConfigError
from namekeeper.journal.settings import Fsync, Limits
from tests.unit.app.parts import startup


def test_the_folder_is_beside_the_kv_file_or_where_it_is_wanted(tmp_path):
    settings = startup(tmp_path).settings
    assert journal_folder(settings, 9876) == str(tmp_path / "journal" / "9876")
    assert journal_folder(startup(tmp_path, journal_path="/data/j").settings, 9876) == "/data/j"


def test_what_is_set_is_what_is_done(tmp_path):
    settings = startup(
        tmp_path, journal_namesrv_id="ns-1", journal_fsync="always", journal_segment_seconds="7",
        journal_retention_bytes="5000000000", journal_retention_days="2", journal_checkpoint_hours="3",
        journal_queue_bytes="70000000", cluster_label="east", journal_segment_bytes="60000000", journal_fsync_interval_ms="50", scan_not_active_broker_interval="900",
    ).settings  # fmt: skip
    writer = writer_settings(settings, 9876)
    assert (writer.namesrv, writer.is_configured) == ("ns-1", True)
    assert (writer.segments.fsync, writer.segments.segment_ms) == (Fsync.ALWAYS, 7_000)
    assert (writer.segments.segment_bytes, writer.segments.fsync_interval_ms) == (60_000_000, 50)
    assert writer.limits == Limits(5_000_000_000, 172_800_000)
    journal = journal_settings(settings)
    assert (journal.checkpoint_ms, journal.queue_bytes, journal.scan_interval_ms, journal.cluster_label) == (
        10_800_000,
        70_000_000,
        900,
        "east",
    )


def test_without_an_id_it_is_the_host_s(tmp_path):
    writer = writer_settings(startup(tmp_path).settings, 9877)
    assert writer.namesrv.endswith("_9877")
    assert not writer.is_configured


def test_an_id_and_a_label_are_checked(tmp_path):
    check_names(startup(tmp_path, journal_namesrv_id="ns-1.prod", cluster_label="east-1").settings)
    check_names(startup(tmp_path).settings)
    with pytest.raises(ConfigError, match="journalNamesrvId=a b: up to 120 letters"):
        check_names(startup(tmp_path, journal_namesrv_id="a b").settings)
    with pytest.raises(ConfigError, match="clusterLabel=a b: letters, digits"):
        check_names(startup(tmp_path, cluster_label="a b").settings)
