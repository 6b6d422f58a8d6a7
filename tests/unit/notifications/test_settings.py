"""The TOML file: what it may say, and one line for each error, without a secret in it."""

from datetime import UTC, time

import pytest

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.times import zone_of
from namekeeper.errors import ConfigError
from namekeeper.notifications.receivers import IncidentSeverity, QuietHours, Receiver, SecretSource, SendBy
from namekeeper.notifications.settings import parse_messages_file

RECEIVER = '[receivers.ops]\ntype = "webhook"\nurl_env = "URL"\n'
LEAST = f'outbox = "out"\n{RECEIVER}'


def parse(text):
    return parse_messages_file(text, source="/etc/nk/messages.toml")


def test_the_least_that_a_file_says():
    file = parse(LEAST)
    assert file.journals == ()
    assert not file.expect
    assert file.settings.outbox == "/etc/nk/out"
    assert (file.settings.page, file.settings.zone, file.settings.severities) == ("", UTC, {})
    assert file.settings.receivers == (
        Receiver(name="ops", send_by=SendBy.WEBHOOK, url=SecretSource(env="URL")),
    )


def test_all_that_a_file_may_say():
    file = parse("""
outbox = "/var/lib/nk"
journals = ["observed", "/data/ns1"]
expect = "expected.toml"
page = "https://console.example/nk/"
zone = "Europe/Berlin"

[severity]
broker_unregistered = "warning"

[receivers.ops]
type = "webhook"
url_file = "ops.url"
token_env = "OPS_TOKEN"
tls_ca = "ca.pem"
severity = "warning"
kinds = ["broker_away", "mass_disconnect"]
clusters = ["prod-*"]
name_servers = ["east.*"]
quiet = "22:00-07:00"
quiet_below = "warning"
grace = "30s"
within = "2s"
most_per_minute = 3

[receivers.chat]
type = "apprise"
url_file = "/run/secrets/chat"
""")
    assert file.journals == ("/etc/nk/observed", "/data/ns1")
    assert file.expect == "/etc/nk/expected.toml"
    settings = file.settings
    assert (settings.outbox, settings.page) == ("/var/lib/nk", "https://console.example/nk/")
    assert settings.zone == zone_of("Europe/Berlin")
    assert settings.severities == {IncidentKind.BROKER_UNREGISTERED: IncidentSeverity.WARNING}
    assert settings.receivers[0] == Receiver(
        name="ops", send_by=SendBy.WEBHOOK, url=SecretSource(file="/etc/nk/ops.url"),
        token=SecretSource(env="OPS_TOKEN"), tls_ca="/etc/nk/ca.pem", least=IncidentSeverity.WARNING,
        kinds=frozenset({IncidentKind.BROKER_AWAY, IncidentKind.MASS_DISCONNECT}), clusters=("prod-*",),
        name_servers=("east.*",), quiet=QuietHours(time(22), time(7)), quiet_below=IncidentSeverity.WARNING,
        grace_ms=30_000, within_ms=2_000, most_per_minute=3,
    )  # fmt: skip
    assert settings.receiver("chat") == settings.receivers[1]
    assert settings.receiver("other") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (RECEIVER, "no folder for the outbox"),
        ('outbox = "out"', "0 receivers"),
        ('outbox = "out"\n' + "".join(RECEIVER.replace("ops", f"r{number}") for number in range(21)), "21 receivers"),
        (f"{LEAST}color = 1", "receiver 'ops': unknown key 'color': it has type"),
        (f'{LEAST}severty = "info"', "receiver 'ops': unknown key 'severty': did you mean severity?"),
        (f"{LEAST}grace = 2", "receiver 'ops': grace must be a text in quotes, not a whole number"),
        (f'{LEAST}kinds = "drift"', "receiver 'ops': kinds must be a list, not a text in quotes"),
        (f'timezone = "UTC"\n{LEAST}', "/etc/nk/messages.toml: unknown key 'timezone': it has receivers"),
        (LEAST.replace("[receivers", "[receiver"), "unknown key 'receiver': did you mean receivers?"),
        (f'{LEAST}[severity]\ndrift = ["info"]', "a value of severity must be a text in quotes, not a list"),
        (LEAST.replace("webhook", "pigeon"), "'pigeon' is none of webhook, apprise"),
        (f'{LEAST}url_file = "x"', "give one of url_file and url_env"),
        (LEAST.replace('url_env = "URL"', ""), "give one of url_file and url_env"),
        (f'{LEAST}token_file = "x"\ntoken_env = "y"', "give one of token_file and token_env"),
        (LEAST.replace("webhook", "apprise") + 'token_file = "x"', "apprise has both in its URL"),
        (LEAST.replace(".ops]", '."a b"]'), "a name has at most 64"),
        (f'{LEAST}severity = "fatal"', "severity: 'fatal' is none of info, warning, critical"),
        (f'{LEAST}kinds = ["flood"]', "kinds: 'flood' is none of broker_away"),
        (f'{LEAST}quiet = "at night"', "quiet: 'at night' is no time of day"),
        (f'{LEAST}grace = "2h"', "grace: '2h' is not 0 to 3,600,000 ms"),
        (f'{LEAST}grace = "soon"', "grace: 'soon' is no duration"),
        (f'{LEAST}within = "1ms"', "within: '1ms' is not 100 to 60,000 ms"),
        (f"{LEAST}most_per_minute = 0", "most_per_minute = 0 is not 1 to 600"),
        (f'zone = "Mars"\n{LEAST}', "zone: there is no time zone 'Mars'"),
        (f'page = "console"\n{LEAST}', "page must be the http or https address"),
        (f"{LEAST}[severity]\nflood = 'info'", "severity: 'flood' is none of"),
        ("receivers = 3\noutbox = 'x'", "receivers"),
        ("outbox =", "is not TOML"),
    ],
)  # fmt: skip
def test_what_can_not_be_used_is_one_line(text, reason):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("/etc/nk/messages.toml")


@pytest.mark.parametrize("key", ["url", "token", "password"])
def test_a_secret_in_the_file_is_refused_and_not_shown(key):
    with pytest.raises(ConfigError) as caught:
        parse(f'{LEAST}{key} = "https://user:s3cr3t@example/"')
    assert "is a secret and does not belong here" in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("page", ["https://c.example/#token=s3cr3t", "https://u:s3cr3t@c.example/"])
def test_a_page_with_a_secret_is_refused_and_not_shown(page):
    with pytest.raises(ConfigError) as caught:
        parse(f'page = "{page}"\n{LEAST}')
    assert "s3cr3t" not in str(caught.value)
