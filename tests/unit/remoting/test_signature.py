import pytest

from namekeeper.remoting.signature import sign, signature_of, signing_hook
from namekeeper.wire.command import request

REGISTER = {
    "bodyCrc32": "817631384",
    "brokerAddr": "10.0.0.1:10911",
    "brokerId": "0",
    "brokerName": "broker-a",
    "clusterName": "DefaultCluster",
    "compressed": "false",
    "haServerAddr": "10.0.0.1:10912",
}


@pytest.mark.parametrize(
    ("fields", "body", "token", "signature"),
    [
        ({"topic": "TopicTest"}, b"", None, "0jiwhsaYp5ObE5GObbZH1I8/FT4="),
        ({}, b"", None, "IUc8rrO/0gDch8CjObLQsW2rsiA="),
        (REGISTER, b"hello", "tok", "FmgpVFWPAFCqTgsbiTgMdzI+PiY="),
    ],
)
def test_the_values_that_java_computed(
    fields: dict[str, str], body: bytes, token: str | None, signature: str
):
    signed = sign(fields, body, access_key="RocketMQ", secret_key="12345678", security_token=token)
    assert signed["Signature"] == signature
    assert signed["AccessKey"] == "RocketMQ"
    assert signed.get("SecurityToken") == token
    assert fields.items() <= signed.items()


def test_a_signature_that_is_there_is_not_signed_and_so_can_be_checked():
    signed = sign({"topic": "TopicTest"}, b"", access_key="RocketMQ", secret_key="12345678")
    assert signature_of(signed, b"", secret_key="12345678") == signed["Signature"]
    assert signature_of(signed, b"", secret_key="other") != signed["Signature"]


def test_the_hook_signs_a_request():
    command = request(106)
    signing_hook("RocketMQ", "12345678")("10.0.0.1:9876", command)
    assert command.ext_fields == {"AccessKey": "RocketMQ", "Signature": "IUc8rrO/0gDch8CjObLQsW2rsiA="}
