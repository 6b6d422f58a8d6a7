"""The webhook: what each answer means, time limits, certificates, and no secret in a reason."""

import datetime as dt
import ssl

import pytest
import trustme

from namekeeper.notifications.outbox import AttemptEnd
from namekeeper.notifications.webhook import certificate_problem, outcome_of_status, post_document
from tests.support.server.webhook import Reply, WebhookServer

SECRET = "s3cr3t"


async def posted(url, *, token=SECRET, tls_ca="", within_ms=10_000):
    return await post_document(url, b"{}", message="m1", token=token, tls_ca=tls_ca, within_ms=within_ms)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, "acknowledged"), (204, "acknowledged"), (299, "acknowledged"), (400, "refused"), (413, "refused"),
        (401, "failed"), (404, "failed"), (408, "failed"), (429, "failed"), (500, "failed"), (503, "failed"),
    ],
)  # fmt: skip
def test_what_a_status_means(status, kind):
    outcome = outcome_of_status(status)
    assert outcome.kind == kind
    assert outcome.reason == ("" if kind == "acknowledged" else f"HTTP {status}")


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("30", 30_000), ("", None), ("soon", None), ("-1", None), ("9" * 30, 999_999_999_000),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 60_000), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)  # fmt: skip
def test_a_pause_is_asked_for_in_seconds_or_by_a_date(text, pause):
    assert outcome_of_status(429, text, now=60.0).retry_after_ms == pause


async def test_a_document_is_posted_with_its_id_and_token():
    with WebhookServer() as hook:
        assert (await posted(hook.url("/x?y=1"))).kind is AttemptEnd.ACKNOWLEDGED
    ((path, headers, body),) = hook.requests
    assert (path, body) == ("/x?y=1", b"{}")
    assert (headers["Authorization"], headers["Idempotency-Key"]) == (f"Bearer {SECRET}", "m1")
    assert headers["User-Agent"].startswith("namekeeper/")


async def test_a_receiver_that_asks_for_a_pause():
    with WebhookServer(lambda _: Reply(429, {"Retry-After": "7"})) as hook:
        outcome = await posted(hook.url())
    assert (outcome.kind, outcome.reason, outcome.retry_after_ms) == (AttemptEnd.FAILED, "HTTP 429", 7_000)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status):
    with WebhookServer() as target:
        with WebhookServer(lambda _: Reply(status, {"Location": target.url()})) as hook:
            outcome = await posted(hook.url())
        assert outcome.kind is AttemptEnd.FAILED
        assert f"it redirects (HTTP {status})" in outcome.reason
        assert target.requests == []


async def test_a_receiver_that_never_answers_costs_its_time_limit_only():
    with WebhookServer(lambda _: Reply(0)) as hook:
        outcome = await posted(hook.url(), within_ms=200)
    assert (outcome.kind, outcome.reason) == (AttemptEnd.FAILED, "no answer within 0.2 s")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"http://127.0.0.1:1/{SECRET}", "no connection: Connection refused"),
        (f"http://{SECRET}.invalid/", "its host name can't be resolved"),
        (f"ftp://127.0.0.1/{SECRET}", "its URL can't be used"),
        (f"http://127.0.0.1:{SECRET}/", "its URL can't be used"),
        (SECRET, "its URL can't be used"),
    ],
)
async def test_a_reason_has_no_address(url, reason):
    outcome = await posted(url)
    assert outcome.kind is AttemptEnd.FAILED
    assert reason in outcome.reason
    assert SECRET not in outcome.reason


async def test_certificates_are_verified(tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    cases = {
        "": authority.issue_cert("127.0.0.1"),
        "its certificate has expired": authority.issue_cert("127.0.0.1", not_after=past),
        "its certificate is for another IP address": authority.issue_cert("other.example"),
        "its certificate is of an unknown authority: name it in tls_ca": trustme.CA().issue_cert("127.0.0.1"),
    }
    for reason, cert in cases.items():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cert.configure_cert(context)
        with WebhookServer(tls=context) as hook:
            outcome = await posted(hook.url(), tls_ca=str(tmp_path / "ca.pem"))
        assert outcome.reason == reason
        assert len(hook.requests) == (not reason)


async def test_an_authority_file_that_is_gone_is_named(tmp_path):
    outcome = await posted("https://127.0.0.1:1/", tls_ca=str(tmp_path / "ca.pem"))
    assert outcome.reason == f"the file of its authorities can't be used: {tmp_path}/ca.pem"


async def test_a_receiver_without_tls_behind_https():
    with WebhookServer() as hook:
        outcome = await posted(hook.url().replace("http:", "https:"))
    assert "TLS failed" in outcome.reason or "ended without an answer" in outcome.reason


def test_other_problems_of_tls_have_a_text():
    assert "HTTPS" in certificate_problem(ssl.SSLError())
    error = ssl.SSLCertVerificationError()
    error.verify_code = 23
    assert certificate_problem(error) == "its certificate can't be verified (OpenSSL code 23)"
