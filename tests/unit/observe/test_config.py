"""What a file or the options say is observed, and what is refused with a line that says what to write."""

import pytest

from namekeeper.errors import ConfigError
from namekeeper.journal.settings import DAY_MS, Limits
from namekeeper.observe.config import (
    ObservedCluster,
    Observing,
    ShadowSettings,
    Target,
    check_targets,
    journal_settings,
    parse_observing,
    writer_settings,
)
from namekeeper.observe.schedule import Rates
from namekeeper.remoting.address import Address

FULL = """
journal = "observed"
budget_percent = 0.5
members_every = "2s"
topics_every = "3s"
queues_every = "1m"
kv_every = "30s"
config_every = "5m"
answer_within = "3s"
kv_namespaces = ["ORDER_TOPIC_CONFIG", "MINE"]
retention_bytes = "500 MiB"
retention_age = "7d"

[clusters.east]
name_servers = ["10.0.0.1:9876", "10.0.0.2:9876"]
tls = true

[clusters.west]
discover = ["ns.west:9876"]
access_key = "observer"
secret_key_file = "secret"
tls_ca = "/etc/ca.pem"
"""
SMALL = '[clusters.a]\nname_servers = ["h:1"]\n'


def parsed(text, journal="j"):
    return parse_observing(text, source="/etc/observe.toml", journal=journal)


def test_a_file_says_everything():
    observing = parsed(FULL, journal="")
    assert observing.journal == "/etc/observed"
    assert observing.limits == Limits(500 << 20, 7 * DAY_MS)
    assert observing.rates == Rates(
        budget=0.005, members_ms=2_000, topics_ms=3_000, queues_ms=60_000, kv_ms=30_000, config_ms=300_000,
        answer_ms=3_000, kv_namespaces=("ORDER_TOPIC_CONFIG", "MINE"),
    )  # fmt: skip
    east, west = observing.clusters
    assert (east.label, east.name_servers) == ("east", (Address("10.0.0.1", 9876), Address("10.0.0.2", 9876)))
    assert east.access.tls
    assert west.discover == (Address("ns.west", 9876),)
    assert (west.access.tls, west.access.tls_ca, west.access.secret_key_file) == (
        True,
        "/etc/ca.pem",
        "/etc/secret",
    )


def test_each_name_server_may_have_a_log():
    logs = '[clusters.a.logs]\n"h:1" = "namesrv.log"\n'
    (cluster,) = parsed(SMALL + logs).clusters
    assert cluster.logs == {Address("h", 1): "/etc/namesrv.log"}
    (behind,) = parsed('[clusters.a]\ndiscover = ["ns:1"]\n' + logs).clusters
    assert behind.logs == {Address("h", 1): "/etc/namesrv.log"}


def test_each_cluster_may_have_a_shadow():
    found = parsed(SMALL + 'shadow_port = 9877\nshadow_config = "namesrv.properties"\n').clusters
    assert found[0].shadow == ShadowSettings(9877, "/etc/namesrv.properties")
    assert parsed(SMALL + "shadow_port = 0").clusters[0].shadow == ShadowSettings(0)
    assert parsed(SMALL).clusters[0].shadow is None


def test_a_small_file_has_the_defaults():
    observing = parsed(SMALL)
    assert (observing.journal, observing.rates, observing.limits) == ("j", Rates(), Limits())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "clusters"),
        ("[clusters]\n", "it names no cluster"),
        ("[clusters.a]\n", "has no name servers"),
        ("nonsense", "is not TOML"),
        ("bugdet_percent = 1\n" + SMALL, "bugdet_percent"),
        (SMALL + 'name_server = ["h:2"]', "name_server"),
        ('[clusters.a]\nname_servers = "h:1"', "name_servers"),
        ('[clusters.a]\nname_servers = ["h"]', "address 'h' can't be used"),
        ('[clusters."a/b"]\nname_servers = ["h:1"]', "a label has letters"),
        ('[clusters.".."]\nname_servers = ["h:1"]', "a label has letters"),
        ('[clusters.a]\nname_servers = ["h:1", "h:1"]', "would have one journal"),
        (
            '[clusters.a]\nname_servers = ["h_x:1"]\n[clusters.b]\nname_servers = ["h:1"]\ntls_cert = "c"',
            "tls_key",
        ),
        (SMALL + 'access_key = "k"', "secret_key_file"),
        (SMALL + 'shadow_config = "f"', "shadow_config needs a shadow_port"),
        (SMALL + "shadow_port = 70000", "shadow_port = 70000 is no port"),
        (SMALL + "shadow_port = -1", "shadow_port = -1 is no port"),
        (SMALL + 'logs = { "h:2" = "l" }', "logs has h:2, which is none of name_servers"),
        (SMALL + 'logs = { "h" = "l" }', "address 'h' can't be used"),
        ("budget_percent = 0\n" + SMALL, "budget_percent = 0"),
        ("budget_percent = 101\n" + SMALL, "budget_percent = 101"),
        ("budget_percent = nan\n" + SMALL, "budget_percent = nan"),
        ('members_every = "0s"\n' + SMALL, "members_every"),
        ('members_every = "soon"\n' + SMALL, "members_every"),
        ('retention_bytes = "much"\n' + SMALL, "retention_bytes"),
        ('retention_bytes = "0 GiB"\n' + SMALL, "retention_bytes"),
        (f'retention_bytes = "{"9" * 5_000}"\n' + SMALL, "retention_bytes"),
    ],
)
def test_what_cannot_be_used_is_named(text, message):
    with pytest.raises(ConfigError, match=message) as refused:
        parsed(text)
    assert str(refused.value).startswith("/etc/observe.toml")
    assert "\n" not in str(refused.value)


def test_a_file_without_a_folder_is_refused():
    with pytest.raises(ConfigError, match="no folder for the journals"):
        parsed(SMALL, journal="")


def test_each_name_server_has_a_journal_of_its_own():
    observing = parsed(FULL)
    target = Target.of(observing.clusters[0], Address("10.0.0.1", 9876))
    assert target.id == "east.10.0.0.1_9876"
    writer = writer_settings(observing, target)
    assert (writer.folder, writer.namesrv, writer.limits) == (
        "j/east.10.0.0.1_9876",
        target.id,
        observing.limits,
    )
    settings = journal_settings(target, "seen", "east")
    assert (settings.observed_addr, settings.restart, settings.cluster_label) == (
        "10.0.0.1:9876",
        "seen",
        "east",
    )


def test_two_name_servers_with_one_journal_are_refused():
    twice = ObservedCluster("", (Address("::1", 9876), Address("__1", 9876)))
    with pytest.raises(ConfigError, match="would have one journal"):
        check_targets(Observing("j", (twice,)), "-n")
