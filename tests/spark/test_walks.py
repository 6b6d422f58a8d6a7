"""A data engineer and a reader of the report, from journals to a report, by the commands of the pages as written."""

import os
import sys
from pathlib import Path

import pytest

from namekeeper.pipeline.java import java_home_for_spark
from tests.support.documents.commands import Typist, commands_of
from tests.unit.answers.story import Story

pytestmark = [pytest.mark.slow, pytest.mark.long]

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "tutorial-history.md").read_text()
DELETED = "2023-11-14T22:13:22Z"


@pytest.fixture(scope="module")
def engineer(tmp_path_factory: pytest.TempPathFactory) -> Typist:
    """Somebody with the sealed journals of two name servers, where the pages have theirs."""
    home = tmp_path_factory.mktemp("home")
    places = {"first/journal/9876": "ns_1", "second/journal/9877": "ns_2"}
    for namesrv in places.values():
        story = Story(namesrv)
        story.registers(topics=("cluster-1-topic-00001",))
        story.deleted("cluster-1-topic-00001")
        story.alive()
        story.folder(home / namesrv, per_segment=1)
    env = {**os.environ, "HOME": str(home), "TZ": "UTC", "PYSPARK_PYTHON": sys.executable}
    env["JAVA_HOME"] = java_home_for_spark(os.environ).home
    instead = {**places, "19:02:18": DELETED, "~/namesrv/journal/9876": str(home / "ns_1")}
    return Typist(env, home, {**instead, "~/warehouse": str(home / "warehouse")})


def command(text: str, begin: str) -> str:
    (found,) = {each for each in commands_of(text) if each.startswith(begin)}
    return found


def test_from_journals_to_a_report(engineer: Typist):
    for begin in ("namekeeper pipeline run", "namekeeper pipeline run"):
        done = engineer.types(command(TUTORIAL, begin), within=600)
        assert done.returncode == 0, done.stderr
    assert "0 new records" in done.stderr or "nothing new" in done.stderr, done.stderr
    checked = engineer.runs("namekeeper", ["pipeline", "check", "--warehouse", "warehouse"])
    assert checked.returncode in {0, 1}, checked.stderr
    why = engineer.types(command(TUTORIAL, "namekeeper why cluster-1-topic-00001 --at 19:02:18 --warehouse"))
    assert (why.returncode, why.stdout.count("the topic was deleted by peer:99")) == (0, 2), why.stderr
    window = ["--from", "2023-11-14T00:00:00Z", "--warehouse", "warehouse"]
    history = engineer.runs("namekeeper", ["history", "cluster-1-topic-00001", *window])
    assert "RW- 4/4 queues -> none (topic deleted by peer:99)  [ns_1, ns_2]" in history.stdout, history.stderr
    for begin in ("namekeeper report all", "namekeeper report availability"):
        done = engineer.types(command(TUTORIAL, begin))
        assert done.returncode == 0, done.stderr
    report = (engineer.home / "report.html").read_text()
    for title in ("Incidents", "Differences between name servers", "Changes"):
        assert title in report


def test_what_run_the_pipeline_says_once(engineer: Typist):
    page = (DOCS / "howto" / "run-the-pipeline.md").read_text()
    doctor = engineer.types(command(page, "namekeeper pipeline doctor"), within=300)
    assert doctor.returncode == 0, doctor.stdout
    again = engineer.types(
        command(page, "namekeeper pipeline run --journal ~/namesrv/journal/9876"), within=600
    )
    assert again.returncode == 0, again.stderr
