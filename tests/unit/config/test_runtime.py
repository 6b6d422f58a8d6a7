"""Requests 318 and 319: what is shown, what may be changed, and what never."""

import pytest

from namekeeper.config.load import settings_from
from namekeeper.config.properties import parse_properties
from namekeeper.config.runtime import RuntimeConfig, is_secret
from namekeeper.errors import RequestError

BLACK_LISTED = (16, "Can not update config in black list.")


def config(**properties: str) -> RuntimeConfig:
    stored = {"allowConfigUpdate": "true", **properties}
    settings, _ = settings_from(stored)
    return RuntimeConfig.start(settings, stored)


def refusal(runtime: RuntimeConfig, body: bytes) -> tuple[int, str]:
    with pytest.raises(RequestError) as raised:
        runtime.update(body)
    return raised.value.code, raised.value.remark


def test_all_properties_are_shown_sorted_and_raw():
    lines = config(unknownKey="x\\y é ").text().splitlines()
    keys = [line.split("=")[0] for line in lines]
    assert keys == sorted(keys)
    assert "unknownKey=x\\y é " in lines
    assert "listenPort=9876" in lines
    assert "orderMessageEnable=false" in lines
    assert config().text().endswith("\n")


def test_all_values_are_there_for_who_knows_which_are_secret():
    values = config(myPassword="s3cret", unknownKey="x").values()
    assert (values["myPassword"], values["unknownKey"], values["listenPort"]) == ("s3cret", "x", "9876")
    assert [name for name in ("myPassword", "tls.server.keyPassword", "listenPort") if is_secret(name)] == [
        "myPassword",
        "tls.server.keyPassword",
    ]


def test_properties_without_a_value_and_secrets_are_not_shown():
    secrets = {"tls.server.keyPassword": "s3cret", "myPassword": "s3cret", "secretKey": "s3cret"}
    text = config(**secrets).text()
    assert "rocketmqHome" not in text
    assert "s3cret" not in text


def test_a_line_end_in_a_value_does_not_make_a_line():
    assert "a=1\\nlistenPort=2" in config(a="1\nlistenPort=2").text().splitlines()


def test_an_update_changes_what_is_in_effect_and_says_what_changed():
    before = config()
    after, changed = before.update(b"orderMessageEnable=true\nwaitSecondsForService= 9\nlistenPort=9876")
    assert changed == {"orderMessageEnable": "true", "waitSecondsForService": "9"}
    assert after.settings.order_message_enable is True
    assert "waitSecondsForService=9\n" in after.text()
    assert before.settings.order_message_enable is False


def test_unknown_properties_of_the_start_survive_and_can_be_changed_and_others_are_dropped():
    after, changed = config(theirs="1", kept="2").update(b"theirs=7\nother=1")
    assert changed == {"theirs": "7"}
    assert after.unknown == {"theirs": "7", "kept": "2"}
    assert "other" not in after.text()
    assert parse_properties(after.file_text()) == {"allowConfigUpdate": "true", "theirs": "7", "kept": "2"}


def test_a_bad_number_is_ignored_as_in_java():
    after, changed = config().update(b"waitSecondsForService=9 \norderMessageEnable=true")
    assert changed == {"orderMessageEnable": "true"}
    assert after.settings.wait_seconds_for_service == 45


def test_an_update_without_a_body_changes_nothing():
    runtime = RuntimeConfig.start(settings_from({})[0], {})
    assert runtime.update(b"") == (runtime, {})


def test_the_file_holds_what_was_written_and_what_was_changed_but_no_defaults_and_no_flags():
    stored = {
        "allowConfigUpdate": "true",
        "com.rocketmq.remoting.frameMaxLength": "2048",
        "unit": "a\\b \u4e2d",
    }
    settings, _ = settings_from({**stored, "listenPort": "1"})
    after, _ = RuntimeConfig.start(settings, stored).update(b"needWaitForService=true")
    assert parse_properties(after.file_text().encode("latin-1")) == {
        "allowConfigUpdate": "true", "remotingFrameMaxLength": "2048", "unit": "a\\b \u4e2d", "needWaitForService": "true",
    }  # fmt: skip


def test_text_is_utf_8():
    assert config().update("productEnvName=中心".encode())[1] == {"productEnvName": "中心"}


def test_updates_are_refused_unless_allowed_and_the_remark_says_by_what():
    runtime = RuntimeConfig.start(settings_from({})[0], {})
    code, remark = refusal(runtime, b"orderMessageEnable=true")
    assert code == 16
    assert "allowConfigUpdate" in remark
    assert refusal(runtime, b"kvConfigPath=/x") == BLACK_LISTED
    assert refusal(runtime, b"a=\\u00g") == (1, "string2Properties error")


@pytest.mark.parametrize(
    "body",
    [
        b"kvConfigPath=/etc/cron.d/x",  # CVE-2023-37582 and kin: a peer chooses which file is written
        b"configStorePath=/etc/cron.d/x",
        b"configStorePathName=/x",
        b"configBlackList=",
        b"rocketmqHome=/x",
        b"KVCONFIGPATH=/x",
        b"kvconfigpath:/x",
        b"\\u006bvConfigPath=/x",
        b"\\kvConfigPath=/x",
        b"kv\\\n  ConfigPath /x",
        b"  kvConfigPath",
        b"kvConfigPath\\ =/x",
        b"kvConfigPath=/x\nkvConfigPath=~/namesrv/kvConfig.json",
        b"orderMessageEnable=true\nkvConfigPath=~/namesrv/kvConfig.json",
        b"orderMessageEnable=true\rconfigStorePath=/x",
        b"logRoot=/x",
        b"tls.server.certPath=/x",
        b"tls.server.keyPassword=x",
        b"tls.server.mode=disabled",
        b"tls.config.file=/x",
        b"tls.anything=x",
        b"journalPath=/x",
        b"journalDir=/x",
        b"allowConfigUpdate=true",
        b"proxyProtocolTrustedNetworks=0.0.0.0/0",
        b"httpBindAddress=0.0.0.0",
        b"com.rocketmq.remoting.frameMaxLength=2147483647",
        b"enableControllerInNamesrv=true",
    ],
)
def test_what_chooses_files_or_guards_the_server_is_always_refused(body):
    assert refusal(config(), body) == BLACK_LISTED


def test_the_operators_black_list_is_read_once_at_start():
    runtime = config(configBlackList="listenPort; theirs;;", theirs="1")
    assert refusal(runtime, b"listenPort=1") == BLACK_LISTED
    assert refusal(runtime, b"THEIRS=1") == BLACK_LISTED
    assert refusal(runtime, b"kvConfigPath=/x") == BLACK_LISTED
    assert runtime.update(b"needWaitForService=true")[1] == {"needWaitForService": "true"}
    assert runtime.update(b"=x")[1] == {}


def test_a_forbidden_key_is_refused_as_such_whatever_its_value():
    assert refusal(config(), b"kvConfigPath=a\\nb") == BLACK_LISTED


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"productEnvName=a\\nkvConfigPath=/x", "control characters"),
        (b"productEnvName=a\\rkvConfigPath=/x", "control characters"),
        (b"listenPort=70000", "listenPort=70000: must be from 0 to 65535"),
        (b"a=" + b"x" * 65_536, "longer than 65536 bytes"),
        (b"a\n" * 1_001, "more than 1000 lines"),
        (b"a\r" * 1_001, "more than 1000 lines"),
        (b"a=\\u00g", "string2Properties error"),
    ],
)
def test_what_would_spoil_the_file_is_refused(body, text):
    code, remark = refusal(config(), body)
    assert code == 1
    assert text in remark


def test_bytes_that_are_no_text_are_no_error():
    assert config().update(b"\xff\xfe=\xff")[1] == {}
