"""Requests about the running configuration (protocol.md 2.13, 2.14, 5.5)."""

import pytest

from namekeeper.processor.outcome import Save
from namekeeper.route.events import ConfigChanged
from tests.support.server.in_memory import InMemoryNameServer


@pytest.fixture
def allowing():
    return InMemoryNameServer(allow_config_update="true")


def test_319_shows_the_configuration(server):
    assert b"listenPort=9876\n" in server.ask(319).body


def test_318_is_refused_unless_the_operator_allows_it(server):
    refused = server.ask(318, None, b"orderMessageEnable=true")
    assert refused.code == 16
    assert "allowConfigUpdate" in refused.remark
    assert (server.saved, server.events) == ([], [])


def test_318_without_body_is_no_error(server):
    assert server.ask(318).code == 0
    assert server.saved == []


def test_318_takes_effect_at_once_where_it_is_allowed(allowing):
    assert allowing.ask(318, None, b"enableTopicList=false").code == 0
    assert (allowing.saved, allowing.events) == ([Save.CONFIG], [ConfigChanged({"enableTopicList": "false"})])
    assert allowing.ask(311).code == 1


def test_318_that_changes_nothing_is_no_event(allowing):
    assert allowing.ask(318, None, b"enableTopicList=true").code == 0
    assert allowing.events == []


@pytest.mark.parametrize("key", ["kvConfigPath", "configStorePath", "configBlackList"])
def test_318_never_sets_a_path(allowing, key):
    refused = allowing.ask(318, None, key.encode() + b"=/tmp/x")
    assert (refused.code, refused.remark) == (16, "Can not update config in black list.")
    assert allowing.saved == []


def test_318_keeps_characters_beyond_ascii(allowing):
    assert allowing.ask(318, None, "productEnvName=naïve".encode()).code == 0
    assert "productEnvName=naïve\n" in allowing.ask(319).body.decode()
    assert allowing.events == [ConfigChanged({"productEnvName": "naïve"})]


def test_318_keeps_what_is_escaped(allowing):
    assert allowing.ask(318, None, rb"productEnvName=na\u00efve").code == 0
    assert "productEnvName=naïve\n" in allowing.ask(319).body.decode()
