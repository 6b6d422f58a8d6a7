"""Options of the Java of a local session, and the files beside it."""

from pathlib import Path
from xml.etree import ElementTree as ET

from namekeeper.pipeline.java_settings import java_options, starting_for_seconds, write_java_settings


def test_java_has_one_collector_and_the_user_has_the_last_word():
    assert java_options(Path("log"), "").endswith(" -XX:+UseParallelGC")
    theirs = "-Xss4m -XX:+UseZGC"
    assert java_options(Path("log"), theirs).endswith(f" {theirs}")
    assert "ParallelGC" not in java_options(Path("log"), theirs)


def test_there_is_room_for_code_that_is_kept_even_where_java_would_have_little():
    options = java_options(Path("log"), "-XX:TieredStopAtLevel=1").split()
    assert "-XX:ReservedCodeCacheSize=512m" in options
    theirs = "-XX:ReservedCodeCacheSize=128m"
    assert java_options(Path("log"), theirs).endswith(f" {theirs}")


def test_the_log_shows_errors_only_and_queries_share_the_cores(tmp_path):
    log_settings, scheduler_settings = write_java_settings(tmp_path)
    assert "level = error" in log_settings.read_text()
    (mode,) = ET.fromstring(scheduler_settings.read_text()).iter("schedulingMode")
    assert mode.text == "FAIR"
    assert str(log_settings) in java_options(log_settings, "")


def test_a_process_that_ends_after_a_small_run_does_without_the_second_compiler():
    with starting_for_seconds():
        brief = java_options(Path("log"), "-XX:TieredStopAtLevel=4")
    assert brief.index("-XX:TieredStopAtLevel=1") < brief.index("-XX:TieredStopAtLevel=4"), "the user's count"
    assert "TieredStopAtLevel" not in java_options(Path("log"), "")
