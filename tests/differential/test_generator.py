"""The generator sends what was once missing in it: requests that Java reads otherwise than one would think."""

from collections.abc import Callable

import pytest

from tests.differential.generator import generate
from tests.differential.shared import generate_shared
from tests.differential.steps import Ask
from tests.support.java_model.values import Request

SEQUENCES, LENGTH = 40, 300


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """All requests of some sequences: a tenth of what a run of CI sends."""
    steps = [step for number in range(SEQUENCES) for step in generate(f"odd-{number}", f"~{number}~", LENGTH)]
    return [step.request for step in steps if isinstance(step, Ask)]


def has_unused(request: Request, kind: type) -> bool:
    return isinstance(request.fields.get("unused"), kind)


@pytest.mark.parametrize(
    "is_it",
    [
        pytest.param(
            lambda r: r.code == 103 and r.fields.get("brokerId", "").startswith("-"), id="negative broker id"
        ),
        pytest.param(lambda r: r.code == 322 and r.body == b"null", id="322 with the body null"),
        pytest.param(lambda r: r.code == 217 and r.body == b"null", id="217 with the body null"),
        pytest.param(lambda r: has_unused(r, dict), id="an object in a field that nobody reads"),
        pytest.param(lambda r: has_unused(r, list), id="an array in a field that nobody reads"),
        pytest.param(lambda r: r.fraction > 0, id="a code with a fraction"),
        pytest.param(lambda r: b'"topicName": ""' in r.body, id="a topic without a name"),
        pytest.param(lambda r: b'"topicConfigTable": null' in r.body, id="no table of topics"),
        pytest.param(lambda r: b"-unknown" in r.body, id="an empty mapping"),
        pytest.param(lambda r: r.code == 103 and "haServerAddr" not in r.fields, id="no HA address"),
        pytest.param(lambda r: r.code == 318 and not r.body.isascii(), id="a property beyond ASCII"),
    ],
)
def test_odd_requests_are_sent(requests: list[Request], is_it: Callable[[Request], bool]):
    assert any(map(is_it, requests))


def test_old_servers_are_never_asked_to_unregister_another_member_than_the_address_is():
    """4.x goes by the id, 5.x by the address."""
    asked = []
    for number in range(SEQUENCES):
        ids: dict[str, str] = {}
        for step in generate_shared(f"shared-{number}", f"~{number}~", LENGTH):
            if isinstance(step, Ask) and step.request.code in {103, 104}:
                fields = step.request.fields
                if step.request.code == 103:
                    ids[fields["brokerAddr"]] = fields["brokerId"]
                else:
                    asked.append((step.label, fields["brokerId"], ids[fields["brokerAddr"]]))
    assert {(sent, known) for _, sent, known in asked} == {("0", "0"), ("1", "1")}
    assert any(label == "unregister: heal" and known == "1" for label, _, known in asked)
