"""What a peer's or an operator's bytes may do to the configuration: give a value, or one of our errors."""

import contextlib
from collections.abc import Callable, Mapping

from namekeeper.config.load import settings_from
from namekeeper.config.properties import format_properties, parse_properties
from namekeeper.config.runtime import RuntimeConfig
from namekeeper.config.startup import make_startup
from namekeeper.errors import ConfigError, RequestError
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.wire import fastjson

__all__ = ["FUZZ_TARGETS"]

_STORED = {"allowConfigUpdate": "true", "theirs": "1"}
_RUNTIME = RuntimeConfig.start(settings_from(_STORED)[0], _STORED)
_NEVER = (
    "kvConfigPath",
    "configStorePath",
    "configBlackList",
    "rocketmqHome",
    "accessFile",
    "logRoot",
    "tls.server.keyPath",
)


def fuzz_properties(data: bytes) -> None:
    """What was read is read again from what we write of it."""
    with contextlib.suppress(ConfigError):
        entries = parse_properties(data)
        assert parse_properties(format_properties(entries)) == entries


def fuzz_update(data: bytes) -> None:
    """A request 318 never moves a path, and what is saved reads back as what is in effect."""
    with contextlib.suppress(RequestError):
        updated, changed = _RUNTIME.update(data)
        assert not set(changed) & set(_NEVER)
        saved = parse_properties(updated.file_text().encode("ascii"))
        assert settings_from(saved)[0] == updated.settings
        assert "\r" not in updated.text()
        assert updated.text().count("\n") == _RUNTIME.text().count("\n")


def fuzz_startup(data: bytes) -> None:
    """Any file starts a server or is refused."""
    with contextlib.suppress(ConfigError):
        make_startup(file_data=data).runtime_config.text()


def fuzz_kv_file(data: bytes) -> None:
    """A KV file that was read is read again from what we write of it."""
    with contextlib.suppress(ConfigError):
        text = KvConfigStore.from_text(data, lenient=fastjson.decode).to_text()
        assert KvConfigStore.from_text(text).to_text() == text


FUZZ_TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "properties": fuzz_properties,
    "update_namesrv_config": fuzz_update,
    "startup": fuzz_startup,
    "kv_config_file": fuzz_kv_file,
}
"""Each raises nothing, whatever it is given."""
