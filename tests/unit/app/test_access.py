"""Each request is judged before it is handled; what is refused has no effect and is answered with code 16."""

import logging
import struct
from ipaddress import ip_address
from types import SimpleNamespace

import pytest

from namekeeper.access.judged import JudgedRequest, subject_of
from namekeeper.access.peer import Peer, certificate_names
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.request_class import CLASSES
from namekeeper.access.rules import AccessMode, Decision
from namekeeper.access.rules_file import parse_access_file
from namekeeper.access.signature import Signer, sign
from namekeeper.app import access
from namekeeper.app.access import SMALL_BODY_BYTES, AccessControl
from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.catalogue import CATALOGUE
from namekeeper.messages.fields import to_wire_name
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import request
from tests.support.server.builders import header
from tests.support.server.secrets import Untouchable, comparisons
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.remoting.joined import Joined

PEER = "192.0.2.1"
ANYBODY = '[[rule]]\nname = "anybody"\nrequests = ["any"]\n'
READERS = '[[rule]]\nname = "readers"\nrequests = ["read"]\n'
OPERATORS = '[[rule]]\nname = "operators"\nrequests = ["any"]\nusers = ["ops"]\n'
SECRET = "s3cret"


def policy(*rules: str, mode: str = "enforce", secret: str = SECRET) -> AccessPolicy:
    file = parse_access_file(f'mode = "{mode}"\nkeys = "keys.toml"\n' + "".join(rules), source="access.toml")
    return AccessPolicy(file.rules, {"ops": (secret,)})


class Server:
    """Requests behind access control; each connection is one of the peer 192.0.2.1."""

    def __init__(self, folder, *rules: str, mode: str = "enforce", **flags: str):
        self.parts = Parts(folder, **flags)
        self.control = AccessControl(
            SimpleNamespace(policy=policy(*rules, mode=mode), trouble=""), self.parts.requests, self.parts.state,
            journaling=self.parts.effects.journaling, lookup_cache=self.parts.state.lookup_cache,
        )  # fmt: skip

    def connect(self, certificate=None) -> Joined:
        joined = Joined(self.control)
        joined.channel.certificate = names = certificate_names(certificate)
        joined.channel.certificate_name = subject_of(names)
        return joined

    def replace(self, *rules: str, over: Joined, secret: str = SECRET):
        self.control.replace(policy(*rules, secret=secret), [over.connection])

    def register(self, **fields):
        """Register a broker past access control."""
        connection = self.parts.connect()
        connection.deliver(encode_command(registration(**fields)))
        self.parts.run_turns()
        return connection


@pytest.fixture
def server(tmp_path):
    """A function that makes a server with rules; it needs a running loop."""
    return lambda *rules, **more: Server(tmp_path, *rules, **more)


def signed(code: int, body: bytes = b"", *, opaque: int = 1, secret: str = SECRET, **fields: str) -> bytes:
    return frame(code, body, opaque=opaque, **sign(fields, body, access_key="ops", secret_key=secret))


def sample(code: int) -> bytes:
    """A request with every field that its header has."""
    header = CATALOGUE[code].request_header
    fields = {to_wire_name(name): "1" for name in (header.__struct_fields__ if header else ())}
    return frame(code, **fields)


def shown(server: Server) -> tuple[object, ...]:
    """Copies of everything that requests could change."""
    state = server.parts.state
    tables = state.tables
    return (
        dict(tables.topic_queue_table), dict(tables.broker_addr_table), dict(tables.cluster_addr_table),
        list(tables.broker_live_table), list(state.kv_config.entries()), dict(state.config.values()),
    )  # fmt: skip


@pytest.mark.parametrize("code", [int(code) for code in CLASSES])
async def test_what_no_rule_covers_is_refused_and_changes_nothing(server, code):
    server = server()
    before = shown(server)
    asking = server.connect()
    asking.deliver(sample(code))
    (answer,) = asking.answers
    name = CATALOGUE[code].name
    assert answer.code == 16
    what, who = answer.remark.split(" of ")
    assert what.startswith(f"{name} ({code})")
    assert who == f"{PEER}:5 is refused: no rule covers it"
    assert server.parts.run_turns() == 0
    assert shown(server) == before
    assert asking.channel.carried == {}
    assert server.parts.results(code) == {16: 1}
    assert server.control.refusals() == {(CLASSES[code].value, "none", "enforce"): 1}


@pytest.mark.parametrize("code", [int(code) for code in CLASSES])
async def test_what_a_rule_allows_is_handled_as_without_rules(server, code):
    server = server(ANYBODY)
    asking, without = server.connect(), server.parts.connect()
    for connection in (without, asking):
        connection.deliver(sample(code))
        server.parts.run_turns()
        await server.parts.executor.run()
    answers = [[(each.code, each.remark, each.body) for each in one.answers] for one in (without, asking)]
    assert answers[0] == answers[1]
    assert server.control.refusals() == {}


async def test_a_code_that_nobody_handles_is_answered_so(server):
    asking = server().connect()
    asking.deliver(frame(4711))
    assert [(each.code, each.remark) for each in asking.answers] == [(3, " request type 4711 not supported")]


async def test_a_refused_one_way_request_is_dropped(server):
    server = server()
    broker = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911"}
    server.register()
    asking = server.connect()
    asking.deliver(frame(904, oneway=True, **broker) + frame(104, oneway=True, brokerId="0", **broker))
    server.parts.run_turns()
    assert asking.answers == []
    assert len(server.parts.state.tables.broker_live_table) == 1
    assert server.control.refusals() == {("broker", "none", "enforce"): 2}


async def test_a_refused_registration_counts_as_failed(server):
    server = server(READERS)
    asking = server.connect()
    asking.deliver(encode_command(registration()))
    assert asking.answers[0].code == 16
    assert server.parts.requests.registrations == {"failed": 1}


async def test_a_remark_names_rule_peer_and_user(server):
    refuse = '[[rule]]\nname = "no admin"\neffect = "refuse"\nrequests = ["admin"]\n'
    asking = server(refuse, ANYBODY).connect({"subject": ((("commonName", "laptop"),),)})
    asking.deliver(signed(205, brokerName="b", opaque=1))
    asking.deliver(signed(205, brokerName="b", opaque=2, secret="wrong"))
    what, why = "WIPE_WRITE_PERM_OF_BROKER (205) brokers=b of", "is refused by rule 'no admin'"
    assert [each.remark for each in asking.answers] == [
        f"{what} {PEER}:5, user ops, CN=laptop {why}",
        f"{what} {PEER}:5, CN=laptop {why}; user 'ops' is not proved: AccessKey or Signature is not known here",
    ]


async def test_a_signed_request_is_allowed_and_one_that_is_not_or_wrongly_is_refused(server):
    asking = server(OPERATORS).connect()
    asking.deliver(signed(206, opaque=1) + frame(206, opaque=2) + signed(206, opaque=3, secret="wrong"))
    assert [(each.opaque, each.code) for each in asking.answers] == [(1, 0), (2, 16), (3, 16)]


@pytest.mark.parametrize(("host", "reads"), [("192.0.2.1", True), ("198.51.100.1", False)])
async def test_a_large_body_is_read_for_its_signature_only_if_that_can_help(server, monkeypatch, host, reads):
    made = server(OPERATORS + 'networks = ["192.0.2.0/24"]\n')
    read = []
    monkeypatch.setattr(access, "signer_of", lambda *_: read.append(1) or Signer("ops"))
    asking = made.connect()
    asking.channel.remote_addr = f"{host}:5"
    asking.deliver(frame(216, bytes(SMALL_BODY_BYTES + 1), topic="T") + frame(216, opaque=2, topic="T"))
    made.parts.run_turns()
    assert [each.code for each in asking.answers] == ([0, 0] if reads else [16, 16])
    assert len(read) == (2 if reads else 1)


async def test_a_signature_in_a_binary_header_counts_as_in_json(server):
    asking = server(OPERATORS).connect()
    for opaque, secret in ((1, SECRET), (2, "wrong")):
        fields = sign({"topic": "T"}, b"", access_key="ops", secret_key=secret)
        asking.deliver(encode_command(request(216, fields, opaque=opaque), SerializeType.ROCKETMQ))
    assert [(each.opaque, each.code) for each in asking.answers] == [(1, 0), (2, 16)]


async def test_of_a_field_that_is_there_twice_the_one_that_is_handled_is_judged(server):
    server = server('[[rule]]\nname = "team"\nrequests = [105]\ntopics = ["T1"]\n')
    server.register()
    asking = server.connect()
    for opaque, twice in enumerate((("T1", "T2"), ("T2", "T1"), ("T1", "T2")), 1):
        fields = ",".join(f'"topic":"{topic}"' for topic in twice)
        header = f'{{"code":105,"flag":0,"language":"JAVA","opaque":{opaque},"version":513,"extFields":{{{fields}}}}}'
        asking.deliver(struct.pack(">II", 4 + len(header), len(header)) + header.encode())
    assert [each.code for each in asking.answers] == [16, 0, 16]


async def test_a_signature_over_a_field_that_is_there_twice_is_one_over_what_is_handled(server):
    asking = server(OPERATORS).connect()
    signed_fields = sign({"topic": "T1"}, b"", access_key="ops", secret_key=SECRET)
    rest = ",".join(f'"{name}":"{value}"' for name, value in signed_fields.items())
    for opaque, fields in enumerate(
        (f'{rest},"topic":"T2"', f'"topic":"T2",{rest}', f'{rest},"AccessKey":""'), 1
    ):
        header = f'{{"code":216,"flag":0,"language":"JAVA","opaque":{opaque},"version":513,"extFields":{{{fields}}}}}'
        asking.deliver(struct.pack(">II", 4 + len(header), len(header)) + header.encode())
    assert [each.code for each in asking.answers] == [16, 0, 16]


async def test_with_audit_everything_is_handled_counted_and_logged(server, caplog):
    server = server(READERS, mode="audit")
    asking = server.connect()
    with caplog.at_level(logging.INFO):
        asking.deliver(frame(100, namespace="n", key="k", value="v"))
        await server.parts.executor.run()
    assert [each.code for each in asking.answers] == [0]
    assert server.parts.state.kv_config.get("n", "k") == "v"
    assert server.control.refusals() == {("admin", "none", "audit"): 1}
    assert (
        f"audit only: PUT_KV_CONFIG (100) namespaces=n of {PEER}:5 would be refused: no rule covers it"
        in caplog.text
    )


async def test_an_allowed_admin_request_is_logged_with_its_user(server, caplog):
    with caplog.at_level(logging.INFO):
        server(OPERATORS).connect().deliver(signed(216, topic="T"))
    assert (
        f"DELETE_TOPIC_IN_NAMESRV (216) topics=T of {PEER}:5, user ops is allowed by rule 'operators'"
        in caplog.text
    )


async def test_what_a_peer_writes_is_logged_harmlessly_and_not_at_length(server, caplog):
    name = "x\x1b[31m" + "y" * 1_000
    fields = sign({"topic": "T"}, b"", access_key=name, secret_key="k")
    server().connect().deliver(frame(216, **fields))
    assert "\x1b" not in caplog.text
    assert "y" * 200 not in caplog.text


async def test_a_refusal_says_what_it_was_about_and_not_at_length(server, caplog):
    asking = server().connect()
    asking.deliver(frame(103, clusterName="prod", brokerName="b\x1b" * 200, brokerAddr="a:1", brokerId="0"))
    (answer,) = asking.answers
    assert answer.remark.startswith("REGISTER_BROKER (103) clusters=prod brokers=b\\x1bb")
    assert len(answer.remark) < 600
    assert "\x1b" not in answer.remark + caplog.text


async def test_a_flood_of_refusals_is_logged_in_part(server, caplog):
    asking = server().connect()
    for opaque in range(1, 1_001):
        asking.deliver(frame(216, opaque=opaque, topic="T"))
    assert len(asking.answers) == 1_000
    assert len(caplog.records) == 20


# Look-ups, which are answered from the cache.


def look_up(opaque: int = 1, topic: str = "T1") -> bytes:
    return frame(105, opaque=opaque, topic=topic)


async def test_look_ups_that_everybody_may_have_come_from_the_cache(server):
    server = server(READERS)
    server.register()
    asking = server.connect()
    for opaque in (1, 2, 3):
        asking.deliver(look_up(opaque))
    assert [each.code for each in asking.answers] == [0, 0, 0]
    assert server.parts.state.lookup_cache.found == 1  # the first was read before the peer was judged


async def test_signed_look_ups_are_known_by_their_bytes(server):
    server = server(OPERATORS)
    server.register()
    asking = server.connect()
    for opaque in (1, 2, 3, 4):
        asking.deliver(signed(105, topic="T1", opaque=opaque))
    assert [each.code for each in asking.answers] == [0, 0, 0, 0]
    assert server.parts.state.lookup_cache.found == 2
    asking.deliver(look_up(5) + signed(105, topic="T1", opaque=6, secret="wrong"))
    assert [each.code for each in asking.answers[4:]] == [16, 16]


async def test_the_bytes_of_a_look_up_prove_nothing_over_a_connection_that_other_rules_hold_for(server):
    by_network = (
        '[[rule]]\nname = "network"\nrequests = ["read"]\nusers = ["ops"]\nnetworks = ["192.0.2.0/24"]\n'
    )
    server = server(by_network)
    server.register()
    inside, outside = server.connect(), server.connect()
    outside.channel.remote_addr = "198.51.100.1:5"
    for opaque in (1, 2, 3):
        inside.deliver(signed(105, topic="T1", opaque=opaque))
        outside.deliver(signed(105, topic="T1", opaque=opaque))
    assert [each.code for each in inside.answers] == [0, 0, 0]
    assert [each.code for each in outside.answers] == [16, 16, 16]


async def test_look_ups_limited_to_topics_are_refused_for_others_however_often_they_are_asked(server):
    server = server('[[rule]]\nname = "team"\nrequests = [105]\ntopics = ["T1"]\n')
    server.register()
    asking = server.connect()
    for opaque in range(1, 7):
        asking.deliver(look_up(opaque, "T1" if opaque % 2 else "T2"))
    assert [each.code for each in asking.answers] == [0, 16] * 3


async def test_with_audit_each_look_up_that_would_be_refused_is_counted(server):
    server = server(OPERATORS, mode="audit")
    server.register()
    asking = server.connect()
    for opaque in (1, 2, 3):
        asking.deliver(look_up(opaque))
    assert [each.code for each in asking.answers] == [0, 0, 0]
    assert server.control.refusals() == {("read", "none", "audit"): 3}


# Changes of the rules.


async def test_other_rules_hold_over_open_connections_at_once(server):
    server = server(READERS)
    server.register()
    asking = server.connect()
    for opaque in (1, 2, 3):
        asking.deliver(look_up(opaque))
    server.replace(OPERATORS, over=asking)
    asking.deliver(look_up(4))
    server.replace(ANYBODY, over=asking)
    asking.deliver(look_up(5))
    assert [each.code for each in asking.answers] == [0, 0, 0, 16, 0]


async def test_a_key_that_was_taken_back_is_worth_nothing_at_once(server):
    server = server(OPERATORS)
    server.register()
    asking = server.connect()
    for opaque in (1, 2, 3):
        asking.deliver(signed(105, topic="T1", opaque=opaque))
    server.replace(OPERATORS, over=asking, secret="another")
    asking.deliver(signed(105, topic="T1", opaque=4))
    asking.deliver(signed(105, topic="T1", opaque=5, secret="another"))
    assert [each.code for each in asking.answers] == [0, 0, 0, 16, 0]


async def test_what_was_read_under_old_rules_is_not_learned_for_peers_of_new_ones(server):
    server = server(OPERATORS)
    server.register()
    first = server.connect()
    first.deliver(signed(105, topic="T1", opaque=1))
    (read,) = first.connection.reader.feed(signed(105, topic="T1", opaque=2))
    server.replace('[[rule]]\nname = "new"\nrequests = [105]\ntopics = ["T1"]\n', over=first)
    server.connect().deliver(look_up(3))
    assert read.header.startswith(b"1 ")
    assert set(server.control._scopes.values()) == {b"2 "}


# What a request touches beside what it names.

TEST_BROKERS = '[[rule]]\nname = "test"\nrequests = ["broker"]\nclusters = ["test"]\nbrokers = ["test-*"]\n'


@pytest.mark.parametrize("code", [103, 104, 322, 904])
async def test_a_name_of_ones_own_does_not_open_the_address_of_another(server, code):
    server = server(TEST_BROKERS)
    server.register(cluster_name="test", name="prod-1")
    asking = server.connect()
    fields = {"clusterName": "test", "brokerName": "test-1", "brokerAddr": "10.0.0.1:10911", "brokerId": "0"}
    asking.deliver(frame(code, haServerAddr="", **fields))
    server.parts.run_turns()
    assert [each.code for each in asking.answers] == [16]
    assert [live.broker_name for live in server.parts.state.tables.broker_live_table] == ["prod-1"]


async def test_a_broker_name_of_another_cluster_is_not_taken_over(server):
    both = TEST_BROKERS.replace('"test-*"', '"*"')
    server = server(both)
    server.register(cluster_name="prod", name="broker-a")
    asking = server.connect()
    asking.deliver(encode_command(registration(cluster_name="test", name="broker-a", addr="10.9.9.9:10911")))
    server.parts.run_turns()
    assert [each.code for each in asking.answers] == [16]


def mapped(*bnames: str, version: int = 1) -> bytes:
    """A registration of test-1 with static-topic mappings of some broker names."""
    body = RegisterBrokerBody(
        data_version=DataVersion(counter=version, timestamp=1_700_000_000_000 + version),
        topics=(TopicConfig("T1"), TopicConfig("T2")),
        mappings=tuple(
            TopicQueueMappingInfo(bname=bname, topic=f"T{n}") for n, bname in enumerate(bnames, 1)
        ),
    )
    fields = header(cluster_name="test", name="test-1", addr="10.0.0.9:10911")
    return encode_command(register_broker_request(fields, body))


async def test_a_mapping_in_the_body_of_a_registration_is_limited_to_the_names_of_the_rule(server):
    """A static topic's mapping is kept under the broker name that it holds, whoever sends it."""
    server = server(TEST_BROKERS)
    server.register(cluster_name="prod", name="prod-a", addr="10.0.0.1:10911")
    before = shown(server)
    asking = server.connect()
    asking.deliver(mapped("prod-a"))
    server.parts.run_turns()
    (answer,) = asking.answers
    assert answer.code == 16
    assert "clusters=prod clusters=test brokers=prod-a brokers=test-1 of" in answer.remark
    assert shown(server) == before
    assert server.parts.state.tables.topic_queue_mapping_info_table == {}
    assert server.control.refusals() == {("broker", "none", "enforce"): 1}
    assert server.parts.results(103) == {0: 1, 16: 1}


async def test_a_mapping_of_the_broker_itself_or_within_the_rule_is_none_of_anybodys_business(server):
    server = server(TEST_BROKERS.replace('"test"]', '"test", "prod"]'))
    asking = server.connect()
    asking.deliver(mapped("test-1", "test-2"))
    server.parts.run_turns()
    assert [each.code for each in asking.answers] == [0]
    mappings = server.parts.state.tables.topic_queue_mapping_info_table
    assert {topic: list(by_name) for topic, by_name in mappings.items()} == {
        "T1": ["test-1"],
        "T2": ["test-2"],
    }


async def test_with_audit_a_mapping_of_another_broker_is_noted_and_taken(server):
    server = server(TEST_BROKERS, mode="audit")
    asking = server.connect()
    asking.deliver(mapped("prod-a"))
    server.parts.run_turns()
    assert [each.code for each in asking.answers] == [0]
    assert server.control.refusals() == {("broker", "none", "audit"): 1}
    assert list(server.parts.state.tables.topic_queue_mapping_info_table["T1"]) == ["prod-a"]


MOVERS = '[[rule]]\nname = "movers"\nrequests = [103, 104]\nusers = ["ops"]\ntakes_over = true\n'


@pytest.mark.parametrize("code", [103, 104])
async def test_only_a_rule_that_says_so_lets_another_host_take_a_live_broker_over(server, code):
    server = server(MOVERS, ANYBODY, protect_broker_names="true")
    own = server.register()
    own.channel.remote_addr = "10.0.0.1:5000"
    asked = registration(version=2)
    body = asked.body if code == 103 else b""
    asking = server.connect()
    for opaque, secret in ((1, "wrong"), (2, SECRET)):
        asking.deliver(signed(code, body, opaque=opaque, secret=secret, **asked.ext_fields))
        server.parts.run_turns()
    assert [(each.opaque, each.code) for each in asking.answers] == [(1, 16), (2, 0)]
    assert "registered by another host" in asking.answers[0].remark
    live = list(server.parts.state.tables.broker_live_table)
    assert [each.channel for each in live] == ([asking.channel] if code == 103 else [])


async def test_within_its_names_a_broker_does_what_it_likes(server):
    server = server(TEST_BROKERS)
    asking = server.connect()
    asking.deliver(encode_command(registration(cluster_name="test", name="test-1")))
    server.parts.run_turns()
    assert [each.code for each in asking.answers] == [0]


# What the journal says.


@pytest.fixture
def changes(server):
    """A function that makes a server, and gives it with the changes that are recorded."""

    def make(*rules: str, **flags: str):
        made, found = server(*rules, **flags), []
        made.parts.effects.journaling.record = found.append
        return made, found

    return make


async def test_a_change_names_the_user_who_asked_for_it(changes):
    server, found = changes(OPERATORS, ANYBODY, allow_config_update="true")
    fields = {"clusterName": "c", "brokerName": "b", "brokerAddr": "10.0.0.1:10911", "brokerId": "0"}
    body = b'{"queueDatas":[{"brokerName":"b","readQueueNums":1,"writeQueueNums":1,"perm":6}]}'
    asking = server.connect()
    asking.deliver(signed(103, **fields, haServerAddr=""))
    server.parts.run_turns()
    asking.deliver(signed(217, body, topic="T"))
    server.parts.run_turns()
    for code, more in ((205, {"brokerName": "b"}), (216, {"topic": "T"}), (104, fields)):
        asking.deliver(signed(code, **more))
        server.parts.run_turns()
    asking.deliver(signed(100, namespace="n", key="k", value="v"))
    asking.deliver(signed(318, b"logLevel=WARN"))
    assert {change.asked_by for change in found} == {f"ops@{PEER}:5"}
    assert {str(change.cause) for change in found} == {
        "register_broker", "register_topic", "wipe_write_perm", "delete_topic", "unregister_broker", "put_kv_config",
        "update_namesrv_config",
    }  # fmt: skip


async def test_a_change_names_no_user_whose_signature_is_wrong_or_missing(changes):
    server, found = changes(ANYBODY)
    asking = server.connect()
    asking.deliver(frame(100, namespace="n", key="k", value="v"))
    asking.deliver(signed(100, namespace="n", key="k", value="w", secret="wrong"))
    asking.deliver(
        signed(100, namespace="n", key="k", value="x") + frame(100, namespace="n", key="k", value="y")
    )
    assert [change.asked_by for change in found] == [f"{PEER}:5", f"{PEER}:5", f"ops@{PEER}:5", f"{PEER}:5"]


@pytest.fixture
def recorded(server):
    """A function that makes a server, and gives it with the requests that go into its journal."""

    def make(*rules: str, **more):
        made, judged = server(*rules, **more), []
        made.parts.effects.journaling.judged = judged.append
        return made, judged

    return make


async def test_each_admin_request_is_recorded_with_its_user_and_its_rule(recorded):
    server, judged = recorded(OPERATORS)
    asking = server.connect({"subject": ((("commonName", "laptop"),),)})
    asking.deliver(signed(216, topic="T", clusterName="c") + frame(205, opaque=2, brokerName="b"))
    assert judged == [
        JudgedRequest(
            code=216, peer=f"{PEER}:5", decision=Decision(allowed=True, rule="operators"), mode=AccessMode.ENFORCE,
            user="ops", certificate="CN=laptop", about=["clusters=c", "topics=T"],
        ),
        JudgedRequest(
            code=205, peer=f"{PEER}:5", decision=Decision(allowed=False, rule=None), mode=AccessMode.ENFORCE,
            user=None, certificate="CN=laptop", about=["brokers=b"],
        ),
    ]  # fmt: skip


async def test_a_broker_is_recorded_when_it_is_new_or_refused_and_what_only_reads_is_not(recorded):
    server, judged = recorded(ANYBODY)
    asking = server.connect()
    for opaque in (1, 2, 3):
        asking.deliver(register_frame(opaque))
        server.parts.run_turns()
        asking.deliver(look_up(10 + opaque) + frame(206, opaque=20 + opaque))
    assert [(each.code, each.decision.allowed) for each in judged] == [(103, True)]
    server.replace(READERS, over=asking)
    asking.deliver(register_frame(4))
    asking.deliver(frame(104, opaque=5, brokerName="broker-a"))
    asking.deliver(frame(904, opaque=6, brokerName="broker-a"))
    assert [(each.code, each.decision.allowed) for each in judged[1:]] == [(103, False), (104, False)]


def register_frame(opaque: int) -> bytes:
    request = registration()
    request.opaque = opaque
    return encode_command(request)


# The HTTP pages.

ASKING = Peer(ip_address(PEER))
PAGES = '[[rule]]\nname = "pages"\nrequests = ["http"]\nusers = ["ops"]\n'


async def test_the_pages_are_for_who_shows_the_key_of_a_user_that_a_rule_names(server, caplog):
    made = server(ANYBODY, PAGES)
    reason = f"a request of {PEER} for the HTTP pages is refused: no rule covers it"
    assert made.control.refuse_page(ASKING, SECRET) is None
    assert made.control.refuse_page(ASKING, None) == reason
    assert made.control.refuse_page(ASKING, "guess") == reason
    assert made.control.refusals() == {("http", "none", "enforce"): 2}
    assert SECRET not in caplog.text
    assert "guess" not in caplog.text


@pytest.mark.parametrize("wrong", ["xxxxxx", "s3crex", "s3crets", "s3"])
async def test_a_wrong_token_for_the_pages_is_compared_as_a_whole(server, wrong):
    control = server(PAGES).control
    control.replace(policy(PAGES, secret=Untouchable(SECRET)), [])
    with comparisons() as compared:
        assert control.refuse_page(ASKING, wrong) is not None
    assert compared == [(SECRET.encode(), wrong.encode())]


async def test_without_a_rule_about_them_and_with_audit_everybody_reads_the_pages(server):
    assert server(OPERATORS).control.refuse_page(ASKING, None) is None
    audit = server(PAGES, mode="audit").control
    assert audit.refuse_page(ASKING, None) is None
    assert audit.refusals() == {("http", "none", "audit"): 1}


async def test_the_pages_are_for_the_certificates_that_a_rule_names(server):
    made = server(PAGES.replace('users = ["ops"]', 'certificates = ["CN=ops"]'))
    assert made.control.refuse_page(Peer(ip_address(PEER), ("CN=ops", "DNS:ops.test")), None) is None
    other = made.control.refuse_page(Peer(ip_address(PEER), ("CN=xops\n",)), None)
    assert other == f"a request of {PEER}, CN=xops\\n for the HTTP pages is refused: no rule covers it"
    long = made.control.refuse_page(Peer(ip_address(PEER), ("CN=" + "x" * 60_000,)), None)
    assert len(long) < 400


async def test_a_wrong_signature_is_recorded_with_the_user_that_it_claims(recorded):
    server, judged = recorded(OPERATORS)
    asking = server.connect()
    fields = {"topic": "T", "AccessKey": "ops", "Signature": "d3Jvbmc="}
    asking.deliver(frame(216, **fields) + frame(216, opaque=2, topic="T"))
    assert [(each.user, each.claimed, each.decision.allowed) for each in judged] == [
        (None, "ops", False), (None, "", False),
    ]  # fmt: skip
