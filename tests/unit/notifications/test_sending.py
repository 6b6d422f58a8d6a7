"""The ways to receivers: apprise in a process of its own, secrets from files and variables."""

import json

import pytest

from namekeeper.errors import ConfigError
from namekeeper.notifications import sending as module
from namekeeper.notifications.outbox import AttemptEnd
from namekeeper.notifications.receivers import SecretSource, SendBy
from namekeeper.notifications.sending import Sender, check_secrets, read_secret
from tests.support.server.webhook import Reply, WebhookServer
from tests.unit.notifications.seen import START, found, receiver, seen, sent_until_quiet, settings_of, started

SECRET = "s3cr3t"


def message(*, is_over=False):
    settings = settings_of()
    outbox = started(settings)
    to_ts = START + 60_000 if is_over else None
    outbox.tracking.see(
        seen(found("<b>@everyone</b>", START + 1_000, to_ts), up_to=START + 90_000), START + 90_000
    )
    outbox.plan(settings, START + 99_000)
    (found_message,) = sent_until_quiet(outbox, settings, START + 99_000)
    return found_message


def by_apprise(url, **more):
    return receiver(send_by=SendBy.APPRISE, url=SecretSource(env="URL"), **more), Sender(None, {"URL": url})


async def test_a_message_goes_out_by_apprise():
    with WebhookServer() as hook:
        to, sender = by_apprise(hook.url("/").replace("http:", "json:"))
        assert (await sender(to, message())).kind is AttemptEnd.ACKNOWLEDGED
        assert (await sender(to, message(is_over=True))).kind is AttemptEnd.ACKNOWLEDGED
    opened, over = hook.documents
    assert (opened["title"], opened["type"]) == (
        r"[warning] \x3cb\x3e\x40everyone\x3c\x2fb\x3e away",
        "warning",
    )
    assert (over["title"].startswith("[over]"), over["type"]) == (True, "success")
    assert "incident " in opened["message"]


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
async def test_names_stay_data_in_each_format_of_apprise(form):
    with WebhookServer() as hook:
        to, sender = by_apprise(f"{hook.url('/').replace('http:', 'json:')}?format={form}")
        assert (await sender(to, message())).kind is AttemptEnd.ACKNOWLEDGED
    (document,) = hook.documents
    assert "<b>" not in document["message"] + document["title"]
    assert "@everyone" not in document["message"] + document["title"]


@pytest.mark.parametrize(
    ("reply", "kind", "reason", "pause"),
    [
        (Reply(500), AttemptEnd.FAILED, "HTTP 500", None),
        (Reply(400), AttemptEnd.REFUSED, "HTTP 400", None),
        (Reply(429, {"Retry-After": "9"}), AttemptEnd.FAILED, "HTTP 429", 9_000),
    ],
)
async def test_what_apprise_met_is_the_outcome(reply, kind, reason, pause):
    with WebhookServer(lambda _: reply) as hook:
        to, sender = by_apprise(hook.url(f"/{SECRET}").replace("http:", "json:"))
        outcome = await sender(to, message())
    assert (outcome.kind, outcome.reason, outcome.retry_after_ms) == (kind, reason, pause)


@pytest.mark.parametrize("more", ["", "?redirect=yes"])
async def test_apprise_follows_no_redirect(more):
    with WebhookServer() as target:
        with WebhookServer(lambda _: Reply(307, {"Location": target.url()})) as hook:
            to, sender = by_apprise(hook.url("/").replace("http:", "json:") + more)
            outcome = await sender(to, message())
        assert outcome.kind is AttemptEnd.FAILED
        assert "it redirects (HTTP 307)" in outcome.reason
        assert target.requests == []


async def test_a_process_of_apprise_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(module, "_START_MS", 0)
    with WebhookServer(lambda _: Reply(0)) as hook:
        to, sender = by_apprise(hook.url("/").replace("http:", "json:"), within_ms=300)
        outcome = await sender(to, message())
    assert (outcome.kind, outcome.reason) == (AttemptEnd.FAILED, "no answer within 0.3 s")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"json://user:{SECRET}@127.0.0.1:1/", "no connection"),
        (f"nothing://{SECRET}", "apprise does not understand its URL"),
        (SECRET, "apprise does not understand its URL"),
    ],
)
async def test_a_reason_has_no_address(url, reason):
    to, sender = by_apprise(url)
    outcome = await sender(to, message())
    assert (outcome.kind, outcome.reason) == (AttemptEnd.FAILED, reason)


async def test_a_webhook_gets_the_document_and_the_token(tmp_path):
    (tmp_path / "token").write_text(f"{SECRET}\n")
    with WebhookServer() as hook:
        to = receiver(token=SecretSource(file=str(tmp_path / "token")))
        outcome = await Sender(None, {"URL": hook.url()})(to, message())
        assert outcome.kind is AttemptEnd.ACKNOWLEDGED
    assert hook.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert hook.documents[0]["events"][0]["facts"]["subject"] == "<b>@everyone</b>"


async def test_a_secret_that_is_gone_is_a_failed_attempt():
    outcome = await Sender(None, {})(receiver(), message())
    assert (outcome.kind, outcome.reason) == (AttemptEnd.FAILED, "the environment variable URL is not set")


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe", b"a\nb", b"x" * 5_000])
def test_a_file_that_is_no_secret_is_named_and_not_shown(tmp_path, content):
    (tmp_path / "url").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_secret(SecretSource(file=str(tmp_path / "url")), {})
    assert str(caught.value).startswith(str(tmp_path))
    assert "xxx" not in str(caught.value)


def test_missing_secrets_are_found_before_the_start(tmp_path, monkeypatch):
    check_secrets([receiver()], {"URL": "x"})
    with pytest.raises(ConfigError, match="receiver 'ops': the environment variable URL is not set"):
        check_secrets([receiver()], {})
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"receiver 'ops': apprise is not installed: pip install"):
        check_secrets([receiver(send_by=SendBy.APPRISE)], {"URL": "x"})


async def test_a_result_that_is_none_is_a_failed_attempt():
    assert module._outcome_of(b"").reason == "apprise ended without a result"
    assert module._outcome_of(json.dumps({"is_sent": False, "status": 200}).encode()).reason == (
        "apprise could not deliver it: check the address, the password and that the service answers"
    )
    assert "pip install" in module._outcome_of(b'{"problem": "missing"}').reason
