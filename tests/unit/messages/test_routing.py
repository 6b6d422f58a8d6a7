"""Headers of look-ups, and the form of their answers."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.messages.fields import decode_header
from namekeeper.messages.routing import (
    GetBrokerMemberGroupRequestHeader,
    GetRouteInfoRequestHeader,
    wants_standard_json,
)
from tests.unit.messages.samples import sample


@pytest.mark.parametrize("number", [1, 2, 14])
def test_a_look_up_names_its_topic_in_either_header_form(number):
    assert decode_header(GetRouteInfoRequestHeader, sample(number).ext_fields) == GetRouteInfoRequestHeader(
        "TopicTest"
    )


def test_a_look_up_may_ask_for_a_zone_and_for_standard_json():
    fields = {"topic": "T", "acceptStandardJsonOnly": "true", "__ZONE_MODE": "true", "__ZONE_NAME": "z"}
    header = decode_header(GetRouteInfoRequestHeader, fields)
    assert header == GetRouteInfoRequestHeader("T", True, "true", "z")


def test_a_member_group_needs_both_names():
    with pytest.raises(RequestError, match="the field clusterName is missing"):
        decode_header(GetBrokerMemberGroupRequestHeader, {"brokerName": "broker-a"})


@pytest.mark.parametrize(
    ("version", "flag", "standard"),
    [(0, False, False), (400, False, False), (401, False, True), (0, True, True)],
)
def test_quoted_keys_are_for_new_clients_and_for_who_asks(version, flag, standard):
    assert wants_standard_json(version, accept_standard_json_only=flag) is standard
