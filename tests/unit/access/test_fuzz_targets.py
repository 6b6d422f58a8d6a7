"""The fuzz targets hold for bytes that look like what they read."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.system.errors import assert_no_error
from tests.unit.access.fuzz_targets import FUZZ_TARGETS

VALUES = st.one_of(
    st.sampled_from(
        [
            '"audit"', '"enforce"', '"allow"', '"refuse"', '["any"]', '["read", 103]', "[105]", '["10.0.0.0/8"]',
            '["::ffff:10.0.0.0/104"]', '["*"]', '["CN=?"]', '"k.toml"', '["a", "b"]', '{ env = "A" }', "[]", "1", '"r"',
        ]
    ),
    st.text(max_size=6).map(json.dumps),
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "mode",
        "keys",
        "name",
        "effect",
        "requests",
        "networks",
        "users",
        "certificates",
        "clusters",
        "topics",
        "a",
    ]
)
LINES = st.one_of(
    st.sampled_from(["[[rule]]", "[users]", 'mode = "audit"', 'name = "r"', 'requests = ["any"]']),
    st.builds("{} = {}".format, KEYS, VALUES),
)
FILES = st.lists(LINES, max_size=8).map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass"))
FIELDS = st.dictionaries(
    st.sampled_from(["AccessKey", "Signature", "SecurityToken", "topic", "clusterName"]),
    st.one_of(st.just("RocketMQ"), st.text(max_size=30), st.integers(), st.none()),
)
HEADERS = st.builds(
    lambda code, fields: json.dumps({"code": code, "extFields": fields}).encode(),
    st.integers(100, 110),
    FIELDS,
)


@pytest.mark.parametrize("target", FUZZ_TARGETS)
@given(data=st.one_of(st.binary(max_size=60), FILES, HEADERS))
@example(data=b'{"code":105,"extFields":{"AccessKey":"","Signature":"+dsYTJcP3ahJ2VZ2N6E7nY9kYfQ="}}')
@example(data=b'{"code":105,"extFields":{"AccessKey":"RocketMQ","Signature":"\\ud800"}}')
def test_a_target_raises_nothing(target, data):
    assert_no_error(FUZZ_TARGETS[target], data)
