"""System properties in the variables of RocketMQ's scripts and of Java, and a word about those without effect."""

import pytest

from namekeeper.config.java_options import ignored_options, system_properties
from namekeeper.config.load import SPEC_OF_NAME


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, {}),
        ({"JAVA_OPT": " -Duser.home=/opt"}, {"user.home": "/opt"}),
        ({"JAVA_OPT_EXT": "-server -Xms256m\n-Da=1=2  -Db"}, {"a": "1=2"}),
        ({"JAVA_OPT": "-Da=1 -Da=2"}, {"a": "2"}),
        ({"JAVA_OPT": "-Da=1", "JAVA_OPT_EXT": "-Da=2"}, {"a": "2"}),
        ({"JAVA_TOOL_OPTIONS": "-Da=0", "JAVA_OPT": "-Da=1"}, {"a": "1"}),
        ({"JAVA_OPT_EXT": "-Da=1", "_JAVA_OPTIONS": "-Da=2"}, {"a": "2"}),
        ({"JDK_JAVA_OPTIONS": "'-Da=x y' -Db=\"1\""}, {"a": "x y", "b": "1"}),
        ({"JAVA_OPT": "-Da=\"x\" -Da2='y z'"}, {"a": '"x"', "a2": "'y"}),
        ({"JAVA_TOOL_OPTIONS": "-Da='x"}, {"a": "'x"}),
        ({"JAVA_OPTS": "-Da=1", "JVM_OPTS": "-Da=1"}, {}),
        ({"JAVA_OPT": "-Da=1", "JAVA_OPT_EXT": "-Da="}, {}),
    ],
)
def test_system_properties_are_those_that_java_would_get(environment, found):
    assert system_properties(environment) == found


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ("-DlistenPort=9877", "-DlistenPort has no effect: RocketMQ has no such system property"),
        ("-Dtls.sever.mode=enforcing", "it is no property: did you mean tls.server.mode?"),
        ("-Drocketmq.something=1", "-Drocketmq.something has no effect: it is no property"),
        ("-Drmq.logback.configurationFile=/x.xml", "see the properties that begin with log"),
        ("-javaagent:/jmx.jar=9404:/c.yml", "there is no Java here; /metrics has the metrics"),
    ],
)
def test_an_option_without_effect_is_named_with_what_to_do(options, warning):
    (found,) = ignored_options({"JAVA_OPT_EXT": options}, SPEC_OF_NAME)
    assert found.startswith("JAVA_OPT_EXT: ")
    assert warning in found


@pytest.mark.parametrize(
    "options",
    [
        "-server -Xms256m -Xmx256m -Xmn256m -XX:+UseG1GC -Duser.timezone=UTC -Djava.io.tmpdir=/t -Dmine=1",
        "-Duser.home=/opt -Drocketmq.home.dir=/r -Drocketmq.namesrv.addr=a:1",
        "-Dtls.server.mode=enforcing -Dcom.rocketmq.remoting.socket.sndbuf.size=9 -Drocketmq.serialize.type=JSON",
    ],
)
def test_options_with_effect_and_options_for_memory_give_no_warning(options):
    assert ignored_options({"JAVA_OPT": options}, SPEC_OF_NAME) == []


def test_a_warning_shows_no_value():
    (found,) = ignored_options({"JAVA_OPT": "-Dtls.server.keyPasword=geheim"}, SPEC_OF_NAME)
    assert "geheim" not in found
