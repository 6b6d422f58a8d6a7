"""The fuzz targets hold for bytes that look like what they read."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.system.errors import assert_no_error
from tests.unit.config.fuzz_targets import FUZZ_TARGETS

NAMES = st.sampled_from(
    ["listenPort", "kvConfigPath", "orderMessageEnable", "theirs", "tls.server.mode", "logLevel"]
)
LINES = st.builds(
    lambda name, sep, value, end: name + sep + value + end,
    NAMES, st.sampled_from(["=", ":", " ", "\\u003d", "\\\n="]), st.text(max_size=6),
    st.sampled_from(["\n", "\r", "\\n", "\\\n", ""]),
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=5).map(lambda lines: "".join(lines).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("target", FUZZ_TARGETS)
@given(data=st.one_of(st.binary(max_size=60), TEXTS))
@example(data=b"theirs=\x85\xe2\x80\xa8x")
@example(data=b"theirs=\\ud800")
@example(data=b'{"configTable":{"a":{"b":1}}}')
def test_a_target_raises_nothing(target, data):
    assert_no_error(FUZZ_TARGETS[target], data)
