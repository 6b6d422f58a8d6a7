import pytest

from namekeeper.access import signature
from namekeeper.access.signature import ANONYMOUS, sign, signature_of, signer_of, user_of_key
from tests.support.server.secrets import Untouchable, comparisons

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


KEYS = {"RocketMQ": ("new", "12345678"), "other": ("12345678",)}


def signed(body: bytes = b"", **fields: str) -> dict[str, str]:
    return sign(fields or REGISTER, body, access_key="RocketMQ", secret_key="12345678")


def test_a_right_signature_proves_its_user_by_any_of_the_users_keys():
    assert signer_of(signed(b"body"), b"body", KEYS).user == "RocketMQ"
    renewed = sign(REGISTER, b"", access_key="RocketMQ", secret_key="new")
    assert signer_of(renewed, b"", KEYS).user == "RocketMQ"


def test_a_security_token_is_signed_with_the_rest():
    fields = sign(
        REGISTER, b"body", access_key="RocketMQ", secret_key="12345678", security_token="of a session"
    )
    assert signer_of(fields, b"body", KEYS).user == "RocketMQ"
    assert signer_of({**fields, "SecurityToken": "another"}, b"body", KEYS).user is None
    del fields["SecurityToken"]
    assert signer_of(fields, b"body", KEYS).user is None


def test_a_request_that_is_not_signed_is_nobodys():
    empty = sign(REGISTER, b"", access_key="", secret_key="12345678")
    for fields in (None, {}, REGISTER, {"Signature": "x"}, empty, {"AccessKey": "", "Signature": ""}):
        assert signer_of(fields, b"", {**KEYS, "": ("12345678",)}) == ANONYMOUS


@pytest.mark.parametrize(
    ("change", "body"),
    [
        ({"brokerName": "broker-b"}, b"body"),
        ({"more": "field"}, b"body"),
        ({}, b"another body"),
        ({"AccessKey": "other"}, b"body"),
        ({"AccessKey": "nobody"}, b"body"),
        ({"Signature": "short"}, b"body"),
        ({"Signature": ""}, b"body"),
        ({"Signature": "ä" * 28}, b"body"),
        ({"Signature": "\udc80" * 28}, b"body"),
    ],
)
def test_a_wrong_signature_proves_nobody_and_says_so(change: dict[str, str], body: bytes):
    found = signer_of({**signed(b"body"), **change}, body, KEYS)
    assert found.user is None
    assert found.objection in {
        "AccessKey or Signature is not known here",
        "AccessKey without Signature",
    }


def test_half_a_surrogate_pair_is_signed_as_java_does():
    fields = {"topic": "a\ud800"}
    assert signature_of(fields, b"", secret_key="k") == signature_of({"topic": "a?"}, b"", secret_key="k")


def test_a_signature_that_is_wrong_at_one_place_is_wrong():
    fields = signed(b"body")
    right = fields["Signature"]
    for at in range(len(right)):
        wrong = right[:at] + ("A" if right[at] != "A" else "B") + right[at + 1 :]
        assert signer_of({**fields, "Signature": wrong}, b"body", KEYS).user is None
    assert signer_of({**fields, "Signature": right + "="}, b"body", KEYS).user is None
    assert signer_of({**fields, "Signature": right[:-1]}, b"body", KEYS).user is None


def test_nobody_is_proved_by_the_key_of_another():
    fields = sign(REGISTER, b"", access_key="other", secret_key="new")
    assert signer_of(fields, b"", KEYS).user is None
    stranger = sign(REGISTER, b"", access_key="stranger", secret_key="12345678")
    assert signer_of(stranger, b"", KEYS).user is None


def test_a_secret_key_is_its_users_and_nobody_elses():
    assert user_of_key("new", KEYS) == "RocketMQ"
    assert user_of_key("12345678", {"RocketMQ": ("12345678",)}) == "RocketMQ"
    assert user_of_key("", KEYS) is None
    assert user_of_key("ne", KEYS) is None
    assert user_of_key("\udc80", KEYS) is None


def test_a_wrong_signature_takes_as_long_whether_or_not_the_user_exists(monkeypatch):
    """A large body showed it: a stranger was refused before the body was hashed."""
    hashed = []
    digest = signature.hmac.digest
    monkeypatch.setattr(
        signature.hmac,
        "digest",
        lambda key, content, kind: (hashed.append(len(content)), digest(key, content, kind))[1],
    )
    keys = {"one": ("secret",), "two": ("old", "new")}
    seen = []
    for user in ("one", "two", "who"):
        hashed.clear()
        assert signature.signer_of({"AccessKey": user, "Signature": "wrong"}, b"x" * 1_000, keys).user is None
        seen.append(list(hashed))
    assert len(seen[0]) == 2
    assert seen[0] == seen[1] == seen[2]


WRONG = ["xxxxxxxx", "1234xxxx", "1234567x", "12345678x", "1"]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_key_is_compared_as_a_whole_with_each_key_however_much_of_it_is_right(wrong):
    keys = {"one": (Untouchable("12345678"),), "two": (Untouchable("old"), Untouchable("12345670"))}
    with comparisons() as compared:
        assert user_of_key(wrong, keys) is None
    assert compared == [(each, wrong.encode()) for each in (b"12345678", b"old", b"12345670")]


def test_a_right_key_is_compared_with_the_keys_of_the_other_users_too():
    keys = {"one": (Untouchable("12345678"),), "two": (Untouchable("old"), Untouchable("new"))}
    with comparisons() as compared:
        assert user_of_key("12345678", keys) == "one"
    assert len(compared) == 3
