r"""Lines that Java reads as something else than their author meant get a warning with what to write instead."""

import pytest

from namekeeper.config.misread import misread_lines


def warnings_of(*lines, encoding="utf-8"):
    return misread_lines("\n".join(lines).encode(encoding), source="f")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        (r"kvConfigPath=C:\rocketmq\kv.json", r"write two, as in kvConfigPath=C:\\rocketmq\\kv.json"),
        (r"logRoot=C:\data\temp", r"logRoot=C:\\data\\temp"),
        (r"theirs=D:\x", r"theirs=D:\\x"),
        ("this line is nonsense", "'this line is nonsense' is no property"),
        ("=value", "no name before the value"),
        (": value", "no name before the value"),
        ("listenPort", "listenPort has no value"),
        ('bindAddress="127.0.0.1"', "write bindAddress=127.0.0.1"),
        ("bindAddress='127.0.0.1'", "write bindAddress=127.0.0.1"),
        ("bindAddress=\u201c127.0.0.1\u201d", "write bindAddress=127.0.0.1"),
        ('listenPort: "9876"', "write listenPort=9876"),
        ('kvConfigPath="/a', "write kvConfigPath=/a"),
        ("export listenPort=9876", "write it without export: listenPort=9876"),
        ("set listenPort=9876", "write it without set: listenPort=9876"),
        ("export NAMEKEEPER_LISTEN_PORT=9876", "write it without export"),
        ("NAMEKEEPER_LISTEN_PORT=9876", "write listenPort=9876"),
        ("{listenPort: 9876, bindAddress: 127.0.0.1}", "write listenPort=9876, bindAddress: 127.0.0.1"),
        ("namesrv: {listenPort: 9876}", "each property as name=value in its own line"),
        ('"listenPort": 9876,', "write listenPort=9876"),
        ("- listenPort: 9876", "is no property"),
        ("---", "'---' is no property"),
        ("[namesrv]", "'[namesrv]' is no property"),
        ("// comment", "# at the beginning of a comment"),
        ("; comment", "# at the beginning of a comment"),
        ('<property name="listenPort" value="9876"/>', "is no property"),
        ("kvConfigPath=/a # the file", "write it in a line above"),
        ("kvConfigPath=/\u6570\u636e/kv.json", r"write kvConfigPath=/\u6570\u636E/kv.json"),
        ("listenPort=\uff19\uff18\uff17\uff17", "write listenPort=9877"),
        ("listenPort=9877\u00a0", "write listenPort=9877"),
        ("bindAddress=127.0.0.1\u200b", "write bindAddress=127.0.0.1"),
        ("addressServerList=a:1\uff1bb:2", "write addressServerList=a:1;b:2"),
        ("kvConfigPath=${user.home}/kv.json", "write the path itself"),
        ("kvConfigPath=$HOME/kv.json", "write the path itself"),
        ("kvConfigPath=/a/kv.json,", "write it without"),
    ],
)
def test_a_line_that_is_not_what_it_seems_is_named_with_its_number(line, advice):
    (warning,) = warnings_of("# first", "", line)
    assert warning.startswith("f, line 3: ")
    assert advice in warning


@pytest.mark.parametrize(
    "line",
    [
        "listenPort=9876", "listenPort = 9876", "listenPort:9876", "listenPort 9876", "\tlistenPort\t9876\r",
        r"kvConfigPath=C:\\a\\b", r"kvConfigPath=C\:/a\ b", r"kvConfigPath=/\u6570/kv", "theirs=", "theirs=a # b",
        "theirs: 'x'", "configBlackList=a;b", "# export x=\u6570", "! x", "kvConfigPath=", "a.b-c=1",
        "configBlackList=a;\\\n  b",
    ],
)  # fmt: skip
def test_what_java_reads_as_it_is_meant_gives_none(line):
    assert warnings_of(line) == []


@pytest.mark.parametrize(
    "line",
    [
        r"tls.server.keyPassword=p\ssword", 'tls.client.keyPassword="pssword"', "export tls.server.keyPassword=pssword",
        "NAMEKEEPER_TLS_SERVER_KEY_PASSWORD=pssword", '"tls.server.keyPassword": "pssword"', "theirSecret pssword",
    ],
)  # fmt: skip
def test_a_secret_is_not_shown(line):
    (warning,) = warnings_of(line)
    assert "ssword" not in warning.replace("keyPassword", "").replace("KEY_PASSWORD", "")


def test_a_line_that_became_a_part_of_the_one_before_is_named():
    (warning,) = warnings_of("kvConfigPath=C:\\\\data\\", "listenPort=9876")
    assert warning.startswith("f, line 1: it ends with a backslash, so listenPort in the next line")


def test_a_name_that_stands_twice_is_named_with_both_lines():
    assert warnings_of("listenPort=1", "a=1", "listenPort=2", "a=2") == [
        "f, line 3: listenPort stands in line 1, too: this one counts"
    ]


def test_a_file_of_another_kind_gives_few_lines():
    warnings = warnings_of(*(["some text"] * 5_000))
    assert len(warnings) == 21
    assert warnings[-1] == "f: more lines look wrong; is it a properties file?"


def test_a_warning_has_no_characters_that_act_on_a_terminal():
    (warning,) = warnings_of("a\x1b]0;x b c")
    assert "\x1b" not in warning


def test_a_line_of_a_megabyte_makes_a_short_warning():
    (warning,) = warnings_of("a" * 1_000_000)
    assert len(warning) < 1_100
    assert warning.endswith("is no property: write name=value, and # at the beginning of a comment")
