"""`topics.json`: the topics of a broker and their data version on disk, in the broker's own format.

A Java broker can read it, and we can read a Java broker's file. Unknown members are kept.
"""

import os
import re
from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct, convert, json

from namekeeper.common.copied_text import advice_for_json, remarks_on_json
from namekeeper.common.near_names import near_names
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError
from namekeeper.files import atomic_replace, read_with_backup, set_aside
from namekeeper.messages.bodies import encode_data_version
from namekeeper.messages.body_types import RawDataVersion
from namekeeper.messages.register_broker_body import encode_topic_config_table
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire import fastjson

__all__ = ["StoredTopics", "TopicConfigFile", "parse_topics", "write_topics"]

_VERSION, _TABLE = "dataVersion", "topicConfigTable"
_MEMBERS = frozenset(
    {
        "attributes", "order", "perm", "readQueueNums", "topicFilterType", "topicName", "topicSysFlag",
        "writeQueueNums",
    }
)  # fmt: skip
_INDENT = 1
_SHOWN = 64
_REMARKS = 20
"""Most remarks on one file: it may have thousands of topics, each with the same mistake."""
_MEMBER = re.compile(r"Expected `(\w+)[^`]*`.* - at `\$\.(\w+)`")
_PLACE = re.compile(r"(?:at character |\(byte )([0-9]+)")
_WANTED = {"int": "a whole number", "bool": "true or false", "str": "text", "object": "an object, {...}"}


class StoredTopics(Struct, frozen=True):
    """The content of the file."""

    data_version: DataVersion = DataVersion()
    configs: tuple[TopicConfig, ...] = ()
    unknown: dict[str, Any] = {}
    """Members of the document that we don't know."""
    unknown_of_topics: dict[str, dict[str, Any]] = {}
    """Topic -> members of its configuration that we don't know."""
    remarks: tuple[str, ...] = ()
    """Members that were read otherwise than they may look, each with its line."""


def parse_topics(data: bytes) -> StoredTopics:
    """Read the content of a `topics.json` of any release.

    Raises:
        ValueError: it is none; the message says where.
    """
    try:
        document = fastjson.loads(data)
    except fastjson.DialectError as error:
        raise ValueError(_with_advice(data, str(error))) from None
    if b"$ref" in data:
        document = fastjson.resolve_refs(document)
    document = _object(document, "the document")
    configs, unknown_of_topics = [], {}
    remarks = remarks_on_json(data)
    if document and _TABLE not in document:
        near = "".join(
            f"; is {name[:_SHOWN]} meant to be it?" for name in near_names(_TABLE, document, most=1)
        )
        remarks.append(f"it has no {_TABLE}, so there are no topics{near}")
    for key, value in _object(document.get(_TABLE) or {}, f"{_line_of(data, _TABLE)}{_TABLE}").items():
        try:
            config, unknown = _read_config(key, value)
        except ValueError as error:
            raise ValueError(f"{_line_of(data, key)}{error}") from None
        configs.append(config)
        remarks += [f"{_line_of(data, key)}{text}" for text in _remarks_on(key, config, unknown)]
        if unknown:
            unknown_of_topics[config.topic_name] = unknown
    return StoredTopics(
        data_version=_read_version(data, document.get(_VERSION) or {}),
        configs=tuple(configs),
        unknown={key: value for key, value in document.items() if key not in (_VERSION, _TABLE)},
        unknown_of_topics=unknown_of_topics,
        remarks=tuple(remarks[:_REMARKS]),
    )


def write_topics(stored: StoredTopics) -> bytes:
    """Return the content of the file, indented as a broker's is."""
    table = encode_topic_config_table(stored.configs)
    if stored.unknown_of_topics:
        encoded = json.decode(table)
        table = json.encode(
            {name: {**encoded[name], **stored.unknown_of_topics.get(name, {})} for name in encoded}
        )
    members = [
        b'"%b":%b' % (_VERSION.encode(), encode_data_version(stored.data_version)),
        b'"%b":%b' % (_TABLE.encode(), table),
    ]
    members += [b"%b:%b" % (json.encode(key), json.encode(value)) for key, value in stored.unknown.items()]
    return json.format(b"{%b}" % b",".join(members), indent=_INDENT)


class TopicConfigFile:
    """One `topics.json` with its `.bak`. Every method blocks on the disk: call it in a thread."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.was_broken: str | None = None
        """Why the `.bak` was used instead of the file, or nothing; None if the file was used."""
        self.used_instead = ""
        """The file that was used instead, in words."""

    def load(self) -> StoredTopics:
        """Read the file, or its `.bak` if there is no file or none that can be read, as a broker does.

        Without both there are no topics. A file that can't be used is kept as `.corrupt`: otherwise the
        next change would make it the `.bak`.

        Raises:
            ConfigError: neither can be used; the message says what to do.
        """
        try:
            found = read_with_backup(self.path, parse_topics)
            if found.is_backup:
                set_aside(self.path)
        except OSError as error:
            raise ConfigError(
                f"can't read {error.filename or self.path}: {error.strerror}; give this user the right to"
            ) from None
        except ConfigError as error:
            raise ConfigError(
                f"{error}; repair the file, or move both away to start without topics"
            ) from None
        self.was_broken = found.problem or None
        self.used_instead = (
            f"{self.path}.bak is used, and the file is kept as {self.path}.corrupt"
            if found.is_backup
            else "there are no topics, and no .bak to take them from"
        )
        return found.value or StoredTopics()

    def save(self, stored: StoredTopics) -> None:
        """Replace the content; if the machine crashes, either the old or the new content is there.

        Raises:
            ConfigError: it can't be written; the old content is still there.
        """
        try:
            atomic_replace(self.path, write_topics(stored))
        except OSError as error:
            raise ConfigError(
                f"can't write {self.path}: {error.strerror}; make room, or give this user the right to"
            ) from None


def _read_version(data: bytes, value: object) -> DataVersion:
    what = f"{_line_of(data, _VERSION)}{_VERSION}"
    members = _object(value, what)
    try:
        return convert(members, RawDataVersion, strict=False).to_model()
    except ValueError as error:
        raise ValueError(f"{what}: {_in_words(members, error)}") from None


def _read_config(key: str, value: object) -> tuple[TopicConfig, dict[str, Any]]:
    what = f"the configuration of topic {key[:64]!r}"
    members = _object(value, what)
    fields = {name: member for name, member in members.items() if name in _MEMBERS and member is not None}
    fields.setdefault("topicName", key)
    try:
        config = convert(fields, TopicConfig, strict=False)
    except ValueError as error:
        raise ValueError(f"{what}: {_in_words(fields, error)}") from None
    return config, {name: member for name, member in members.items() if name not in _MEMBERS}


def _remarks_on(key: str, config: TopicConfig, unknown: Collection[str]) -> Iterator[str]:
    """Yield oddities of one topic: a member that looks misspelt, or a second name."""
    if key != config.topic_name:
        yield f"topic {key[:_SHOWN]!r} has the topicName {config.topic_name[:_SHOWN]!r}, which counts"
    for name in unknown:
        if near := near_names(name, _MEMBERS, most=1):
            yield f"topic {key[:_SHOWN]!r}: {name[:_SHOWN]} is not read; did you mean {near[0]}?"


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")  # noqa: TRY004 - the file is wrong, not our call
    return value


def _in_words(members: dict[str, Any], error: ValueError) -> str:
    """Describe the error of a member, with its name and value as they are written."""
    found = _MEMBER.search(str(error))
    if found is None:
        return str(error)
    written = json.encode(members.get(found[2])).decode()
    wanted = _WANTED.get(found[1], found[1])
    return f"{found[2]} can't be {printable(written[:_SHOWN])}: write {wanted}"


def _with_advice(data: bytes, problem: str) -> str:
    """The problem of a text that is no JSON, with its line and what to write instead."""
    text = data.decode("utf-8", "replace")
    found = _PLACE.search(problem)
    before = text[: int(found[1])] if found else ""
    number = before.count("\n")
    line = next(iter(text.split("\n")[number : number + 1]), "")
    advice = advice_for_json(text, line)
    return f"line {number + 1}: {problem}{'; ' if advice else ''}{advice}"


def _line_of(data: bytes, key: str) -> str:
    """`line 7: ` for the first line that has a key; empty if it is written with escapes."""
    at = data.find(json.encode(key))
    line = data.count(b"\n", 0, at) + 1
    return f"line {line}: " if at >= 0 else ""
