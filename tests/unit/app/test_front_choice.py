"""The log says at the start what answers known look-ups; see also test_name_server.py."""

import pytest

from namekeeper.app.name_server import NameServer
from tests.unit.app.parts import startup


@pytest.mark.parametrize(("front", "level"), [("auto", "INFO"), ("native", "WARNING")])
@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"remember_lookups": "true"}, "rememberLookups=true"),
        ({"cluster_test": "true"}, "clusterTest=true"),
        ({"serialize_type": "ROCKETMQ"}, "serializeType=ROCKETMQ"),
        ({"lookup_cache_bytes": "0"}, "lookupCacheBytes=0"),
    ],
)
def test_which_property_turns_the_front_off_is_logged(tmp_path, caplog, front, level, flags, why):
    caplog.set_level("INFO")
    NameServer(startup(tmp_path, front=front, **flags))
    said = f"every look-up is decoded, and the native front is not used: {why}"
    assert [record.levelname for record in caplog.records if record.getMessage() == said] == [level]
