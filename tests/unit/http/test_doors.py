"""Who may ask: names of the host, and the token."""

import pytest

from namekeeper.access.peer import peer_at
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules_file import parse_access_file
from namekeeper.http.doors import Doors, is_loopback, make_token, problem_with_host_name
from tests.support.server.secrets import Untouchable, comparisons

LOCAL = Doors("127.0.0.1")
OPEN = Doors("0.0.0.0", frozenset({"ns.example.com"}), "secret")


@pytest.mark.parametrize(
    "header", ["127.0.0.1:9888", "localhost:9888", "LOCALHOST", "[::1]:9888", "127.0.0.2"]
)
def test_on_loopback_it_goes_by_the_names_of_loopback(header):
    assert LOCAL.refuse_host(header) is None


@pytest.mark.parametrize(
    "header", [None, "", "evil.example.com", "evil.example.com:9888", "10.0.0.1:9888", "localhost.evil.com"]
)
def test_a_name_that_a_stranger_made_point_here_is_refused(header):
    assert "does not go by that name" in LOCAL.refuse_host(header)


def test_elsewhere_it_goes_by_addresses_and_by_the_names_that_were_given():
    assert OPEN.refuse_host("10.0.0.1:9888") is None
    assert OPEN.refuse_host("[fe80::1]:9888") is None
    assert OPEN.refuse_host("NS.example.com:9888") is None
    assert OPEN.refuse_host("evil.example.com:9888") is not None
    assert Doors("ns1.internal").refuse_host("ns1.internal:9888") is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ns.example.com", None),
        ("NS_1", None),
        ("fe80::1", None),
        ("10.0.0.1", None),
        (
            "https://ns.example.com:9886/",
            "https://ns.example.com:9886/ is no host name: write ns.example.com",
        ),
        ("ns:9886", "ns:9886 is no host name: write ns"),
        ("ns/console", "ns/console is no host name: write ns"),
        ("[fe80::1]", "[fe80::1] is no host name: write fe80::1"),
        ("ns.example.com.", "ns.example.com. is no host name: write ns.example.com"),
        ("*.example.com", "*.example.com is no host name: write each name, * stands for none"),
        ("user@ns", "user@ns is no host name"),
    ],
)
def test_a_name_that_no_request_has_is_told_with_what_to_write(name, problem):
    assert problem_with_host_name(name) == problem
    has_name = Doors("0.0.0.0", frozenset({name.lower()})).refuse_host(f"[{name}]" if ":" in name else name)
    assert has_name is None or problem is not None


def test_the_token_opens():
    assert OPEN.refuse_token(["", "secret"]) is None
    assert "a token is needed" in OPEN.refuse_token(["", "secre", "sécret"])
    assert "a token is needed" in OPEN.refuse_token([])
    assert LOCAL.refuse_token([]) is None


PAGES = (
    '[[rule]]\nname = "office"\nrequests = ["http"]\nnetworks = ["10.0.0.0/8"]\n'
    '[[rule]]\nname = "ops"\nrequests = ["http"]\nusers = ["ops"]\n'
)


@pytest.mark.parametrize("mode", ["enforce", "audit"])
def test_access_rules_open_to_networks_and_to_who_shows_a_key(mode):
    file = parse_access_file(f'mode = "{mode}"\nkeys = "k"\n{PAGES}', source="access.toml")
    doors = Doors("0.0.0.0", policy=lambda: AccessPolicy(file.rules, {"ops": ("key",), "guest": ("other",)}))
    assert doors.refuse_peer(peer_at("10.0.0.1:0"), []) is None
    assert doors.refuse_peer(peer_at("[::ffff:10.0.0.1]:0"), []) is None
    assert doors.refuse_peer(peer_at("192.0.2.1:0"), ["", "key"]) is None
    assert "access rules refuse the page" in doors.refuse_peer(peer_at("192.0.2.1:0"), ["", "other", "guess"])
    assert LOCAL.refuse_peer(peer_at("192.0.2.1:0"), []) is None


def test_rules_that_say_nothing_of_pages_any_more_open_to_nobody():
    file = parse_access_file('mode = "enforce"\n[[rule]]\nname = "r"\nrequests = ["any"]\n', source="a")
    doors = Doors("0.0.0.0", policy=lambda: AccessPolicy(file.rules, {}))
    assert doors.refuse_peer(peer_at("10.0.0.1:0"), []) is not None


def test_each_token_is_another():
    assert make_token() != make_token()
    assert len(make_token()) >= 32


def test_what_is_loopback():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [is_loopback(host) for host in ("0.0.0.0", "10.0.0.1", "ns.example.com", "")] == [False] * 4


@pytest.mark.parametrize(
    "header",
    ["localhost:9888@evil.example.com", "127.0.0.1#evil", "evil/127.0.0.1", "localhost evil", "[::1", "[localhost]",
     "127.0.0.1:99x", "a" * 4_000, "localhost:1:2", "\udcff", "xn--localhost"],
)  # fmt: skip
def test_a_host_that_is_no_authority_is_refused(header):
    assert LOCAL.refuse_host(header) is not None


def test_a_name_with_the_dot_of_the_root_is_the_name():
    assert OPEN.refuse_host("ns.example.com.:9888") is None


def test_a_valid_token_opens_under_any_name_and_another_one_does_not():
    file = parse_access_file(f'mode = "enforce"\nkeys = "k"\n{PAGES}', source="access.toml")
    ruled = Doors("0.0.0.0", policy=lambda: AccessPolicy(file.rules, {"ops": ("key",)}))
    assert ruled.refuse_host("evil.example.com", "key") is None
    assert OPEN.refuse_host("evil.example.com", "secret") is None
    for doors in (ruled, OPEN, LOCAL):
        for token in ("", "guess", "sécret", "\udcff"):
            assert doors.refuse_host("evil.example.com", token) is not None


@pytest.mark.parametrize(
    "headers",
    [
        {},  # curl
        {"Origin": "http://ns.example.com:9888"},
        {"Origin": "https://ns.example.com", "Sec-Fetch-Site": "cross-site"},  # a proxy that changes the Host
        {"Origin": "http://10.0.0.1:9888", "Host": "10.0.0.1:9888"},
        {"Origin": "http://10.0.0.9", "Sec-Fetch-Site": "same-origin"},  # a proxy, by an address
    ],
)
def test_a_page_of_this_server_may_send_what_changes_something(headers):
    assert OPEN.refuse_origin({"Host": "127.0.0.1:9886", **headers}) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example.com"},
        {"Origin": "http://evil.example.com", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://10.0.0.9:9886"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://localhost"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "ns.example.com"},
        {"Origin": "http://ns.example.com@evil.example.com"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_the_page_of_another_server_may_not(headers):
    doors = Doors("0.0.0.0", frozenset({"ns.example.com"}), own_names=frozenset({"localhost"}))
    assert "another server" in doors.refuse_origin({"Host": "127.0.0.1:9886", **headers})


WAYS = {
    "the console's token": (lambda doors, token: doors.refuse_token([token]), [b"secret"]),
    "a stranger's host name": (
        lambda doors, token: doors.refuse_host("evil.test", token),
        [b"secret", b"key"],
    ),
    "the key of a user": (lambda doors, token: doors.refuse_peer(peer_at("192.0.2.1:0"), [token]), [b"key"]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", ["xxxxxx", "secxxx", "secrex", "secrets", "s", "kex", "ke", "sécret"])
def test_a_wrong_token_is_compared_as_a_whole_however_much_of_it_is_right(wrong, way):
    """The time of an answer would tell how many characters are right."""
    ask, secrets = WAYS[way]
    rules = parse_access_file(f'mode = "enforce"\nkeys = "k"\n{PAGES}', source="access.toml").rules
    policy = AccessPolicy(rules, {"ops": (Untouchable("key"),)})
    doors = Doors("0.0.0.0", token=Untouchable("secret"), policy=lambda: policy)
    with comparisons() as compared:
        assert ask(doors, wrong) is not None
    assert compared == [(secret, wrong.encode()) for secret in secrets]
