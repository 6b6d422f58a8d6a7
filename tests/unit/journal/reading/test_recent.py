"""The newest changes of routes out of a journal."""

import pytest

from namekeeper.journal.contract.activity import BrokerMinute
from namekeeper.journal.reading import recent
from namekeeper.journal.reading.recent import LOST, STARTED, recent_part
from namekeeper.processor.recent_changes import Revision
from tests.support.java_model.values import Request
from tests.unit.answers.story import Story


def part_of(folder, until, pauses=None):
    return recent_part(folder, until, lambda: None if pauses is None else pauses.append(1))


def causes_in(part, topic="T"):
    return [each.cause for each in part.changes if each.shown_in({topic})]


@pytest.fixture
def story():
    incident = Story()
    incident.registers()
    incident.heard()
    incident.wiped()
    incident.restarts()
    incident.registers("b1", "a1:1", topics=("U",))
    return incident


def end_of(story):
    return Revision(story.journal.boot, story.journal.seq)


def test_the_changes_of_a_topic_have_cause_and_peer_over_a_restart(story, tmp_path):
    part = part_of(story.folder(tmp_path), end_of(story))
    assert causes_in(part)[:2] == ["register_broker", "wipe_write_perm"]
    assert causes_in(part)[-1] == STARTED
    assert causes_in(part, "U")[-1] == "register_broker"
    assert part.changes[0].peer == "peer:1"
    assert [each.revision for each in part.changes] == sorted(each.revision for each in part.changes)
    assert part.floor < part.changes[0].revision


def test_what_comes_after_a_position_is_left_out(story, tmp_path):
    whole = part_of(story.folder(tmp_path), end_of(story))
    second = whole.changes[1].revision
    assert part_of(str(tmp_path), second).changes == whole.changes[:2]


def test_a_loss_shows_in_every_topic_at_the_first_position_behind_it(tmp_path):
    story = Story()
    story.registers()
    story.journal.dropping = True
    story.wiped()
    story.journal.dropping = False
    story.alive()
    part = part_of(story.folder(tmp_path), end_of(story))
    assert causes_in(part, "any") == [LOST]
    assert causes_in(part) == ["register_broker", LOST]
    assert part.changes[-1].revision == end_of(story)


def test_a_crash_is_a_start(tmp_path):
    story = Story()
    story.registers()
    story.journal.crash(keep=len(story.journal.written) - 1)
    story.later()
    story.journal.start()
    assert causes_in(part_of(story.folder(tmp_path), end_of(story)), "any")[-1] == STARTED


def test_without_a_whole_checkpoint_before_it_there_is_no_part(story, tmp_path):
    folder = story.folder(tmp_path)
    assert part_of(folder, Revision(0, 1)) is None
    assert part_of(str(tmp_path / "nowhere"), end_of(story)) is None


def test_only_the_newest_segments_are_read(story, tmp_path, monkeypatch):
    folder = story.folder(tmp_path)
    monkeypatch.setattr(recent, "READ_BYTES_LIMIT", max(tmp_path.iterdir()).stat().st_size)
    part = part_of(folder, end_of(story))
    assert part.floor.boot == story.journal.boot
    monkeypatch.setattr(recent, "READ_BYTES_LIMIT", 10)
    assert part_of(folder, end_of(story)) is None


def test_the_thread_pauses_now_and_then(story, tmp_path, monkeypatch):
    monkeypatch.setattr(recent, "RECORDS_AT_ONCE", 2)
    pauses = []
    part_of(story.folder(tmp_path), end_of(story), pauses)
    assert len(pauses) >= 5


def test_the_thread_pauses_among_records_of_which_none_is_wanted(tmp_path, monkeypatch):
    story = Story()
    minute = BrokerMinute(
        cluster="c0", broker_addr="a0:1", broker_name="b0", broker_id=0, gen=1, minute=0, count=2, last_seen=1
    )
    for _ in range(6):
        for _ in range(100):
            story.journal.write(minute)
        story.alive()
    monkeypatch.setattr(recent, "RECORDS_AT_ONCE", 100)
    pauses = []
    part_of(story.folder(tmp_path), end_of(story), pauses)
    assert len(pauses) >= 6


def test_order_configuration_and_properties_count(tmp_path):
    story = Story()
    story.registers()
    key = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "b0:4"}
    for request in (Request(100, key), Request(318, {}, b"supportActingMaster=true\n")):
        story.later()
        story.journal.server.ask(request, 99, story.journal.up_ms)
    part = part_of(story.folder(tmp_path), end_of(story))
    assert causes_in(part)[-2:] == ["put_kv_config", "update_namesrv_config"]
    assert causes_in(part, "any")[-1] == "update_namesrv_config"
