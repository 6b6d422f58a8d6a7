"""REGISTER_BROKER (103): the rule of protocol.md 4.4, in three steps (docs/decisions/0003).

The build decodes the body and makes its rows beside the tables, incrementally. The commit (`commit.py`) is
atomic. It follows the assessment (`assessment.py`) of the tables as they are then.
"""

from collections.abc import Callable, Collection, Generator, Iterator
from itertools import islice

from msgspec import structs
from xxhash import xxh3_128_digest

from namekeeper.model.broker import MASTER_ID, BrokerKey
from namekeeper.model.now import Now
from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.model.topic import QueueSpec
from namekeeper.route.assessment import Assessment, assess, has_all_topics, is_prime
from namekeeper.route.change import Applied, Edit
from namekeeper.route.channel import Channel
from namekeeper.route.commit import Built, Commit, RegisterResult, master_of, put_live
from namekeeper.route.events import Cause, TopicRow
from namekeeper.route.live import AppliedAs
from namekeeper.route.removal import trim_index, trim_removed
from namekeeper.route.rows import ROWS_BY_SPEC
from namekeeper.route.tables import RouteTables
from namekeeper.route.takeover import Claimant, taken_over

__all__ = ["RegisterBroker"]

ROW_SLICE = 2_000
"""Rows built in one slice: about a millisecond."""

SMALL_BODY_BYTES = 16_384
"""Bodies up to this size are decoded on arrival: that takes well under a millisecond."""


class RegisterBroker:
    """One REGISTER_BROKER request."""

    cause = Cause.REGISTER

    def __init__(
        self,
        header: RegisterBrokerHeader,
        body: bytes,
        *,
        version: int,
        channel: Channel,
        decode: Callable[[], Generator[None, None, RegistrationBody]],
    ) -> None:
        """Prepare it.

        Args:
            header: the checked header.
            body: the body's bytes as they came.
            version: the request's version; the form of the body depends on it.
            channel: the connection of the request.
            decode: decodes the body incrementally, CRC first; raises RequestError for a bad one.
        """
        self.header = header
        self.channel = channel
        self._owner = channel.owner
        self._sender = None if channel.may_take_over else Claimant(channel, self._owner)
        self._body = body
        self._version = version
        self._decode: Callable[[], Generator[None, None, RegistrationBody]] | None = decode
        """None once the body is dropped."""
        self._digest = b""
        self._content: RegistrationBody | None = None
        """The decoded body; None if the commit needs none."""
        self._assessment: Assessment | None = None
        self._built: Built | None = None
        self._is_committed = False

    @property
    def key(self) -> BrokerKey:
        """The cluster and address that identify the registration."""
        return (self.header.cluster_name, self.header.broker_addr)

    @property
    def remote_addr(self) -> str | None:
        """The address of the broker's connection."""
        return self.channel.remote_addr

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker name, and the other one under which the address is registered, if any."""
        live = tables.broker_live_table.get(self.key)
        return {self.header.broker_name} if live is None else {self.header.broker_name, live.broker_name}

    def arrive(self, tables: RouteTables, now: Now) -> None:
        """Refresh the live registration at the arrival of the complete frame, however long the change waits.

        A stranger does not refresh it: otherwise a protected broker that is gone would never expire.
        """
        self.channel.note_carried(self.key, gen=tables.gen)
        if not taken_over(tables, self.header, self._sender):
            tables.note_arrival(self.key, now)

    def give_up(self) -> None:
        """Drop the body, because the connection has closed: the registration makes nothing visible."""
        self._body, self._decode = b"", None

    def build(self, tables: RouteTables) -> Iterator[None]:
        """Decode the body and build the rows, unless the body can be skipped or the connection is closed."""
        if self._is_closed():
            return
        yield from self._take_back(tables)  # the queue may have given up an earlier build
        self._digest = xxh3_128_digest(self._body)
        if self._can_skip(tables):
            return
        if len(self._body) > SMALL_BODY_BYTES:
            yield
        decoded = yield from self._while_open()
        if decoded is None:
            return
        content = structs.replace(decoded, wire_bytes=len(self._body))
        while True:
            assessment = assess(tables, self.header, content, self._sender)
            if assessment.contributes:
                self._built = yield from self._build(tables, content, assessment)
            if self._is_closed() or assess(tables, self.header, content, self._sender) == assessment:
                break
            yield from self._take_back(tables)
        self._content, self._assessment = content, assessment

    def commit(self, tables: RouteTables, now: Now) -> Applied[RegisterResult]:
        """Make the complete registration visible; if its connection is closed, make nothing visible."""
        if self._is_closed():
            return Applied(RegisterResult(outcome="closed"))
        self._is_committed = True
        edit = Edit(tables, now)
        content, assessment = self._content, self._assessment
        if content is None or assessment is None:
            return self._refresh(edit)
        commit = Commit(
            edit, self.header, self.channel, owner=self._owner, body=content, assessment=assessment
        )
        result = commit.make_visible(self._built)
        if not assessment.is_stale and not assessment.is_refused:
            self._remember(tables, content, assessment)
        return edit.applied(result)

    def clean_up(self, tables: RouteTables, applied: Applied[RegisterResult]) -> Iterator[None]:
        """Take lost topics out of the index: of this name, and of a name that the address left."""
        if not self._is_committed:
            yield from self._take_back(tables)
            return
        if self._content is not None and len(self._content.topics) > ROW_SLICE:
            yield  # the decoded body is freed when this is over: not in the iteration of the commit
        if self._built is not None:
            yield from trim_index(tables, self.header.broker_name, self._built.gone())
        yield from trim_removed(tables, applied.events)

    def _is_closed(self) -> bool:
        return not self.channel.is_open

    def _while_open(self) -> Generator[None, None, RegistrationBody | None]:
        """Decode as long as the connection is open; None if it closes before the end."""
        slices = None if self._decode is None else self._decode()
        while slices is not None and not self._is_closed():
            try:
                next(slices)
            except StopIteration as end:
                content: RegistrationBody = end.value
                return content
            yield
        return None

    def _build(
        self, tables: RouteTables, body: RegistrationBody, assessment: Assessment
    ) -> Generator[None, None, Built]:
        """Steps 11 and 12 beside the tables; each slice enters its topics into the index."""
        name = self.header.broker_name
        before = tables.topics_of(name)
        built = Built(before, dict(before), topics_revision=tables.topics_revision)
        if assessment.delete_missing:
            keys = body.topic_keys if body.topic_keys is not None else body.topics.keys()
            for topic in [topic for topic in before if topic not in keys]:
                del built.after[topic]
                built.changed.append(topic)
                built.missing.append(topic)
        try:
            yield from self._build_rows(tables, body, assessment, built)
        except BaseException:
            tables.unindex_topics(built.added, name)
            raise
        return built

    def _build_rows(
        self, tables: RouteTables, body: RegistrationBody, assessment: Assessment, built: Built
    ) -> Generator[None, None, None]:
        rows = ROWS_BY_SPEC[assessment.strip_write]
        is_long = len(body.topics) > ROW_SLICE
        topics, specs = iter(body.topics), iter(body.topics.values())
        some = list(islice(topics, ROW_SLICE))
        while some:
            some_specs = list(islice(specs, ROW_SLICE))
            some_rows = rows.of(some_specs)
            if built.before:
                upsert_all = assessment.upsert_all
                some, some_rows = _update_rows(built, some, some_specs, some_rows, upsert_all=upsert_all)
            in_index = len(tables.topic_index)
            new = tables.index_topics(some, self.header.broker_name)
            built.unseen += len(tables.topic_index) - in_index
            built.added += new
            built.changed += new
            built.after.update(zip(new, some_rows, strict=True))
            some = list(islice(topics, ROW_SLICE))
            if is_long:  # after the last slice, too: the commit has an iteration of its own
                yield

    def _take_back(self, tables: RouteTables) -> Iterator[None]:
        """Remove from the index the topics that a build entered."""
        if self._built is not None:
            yield from trim_index(tables, self.header.broker_name, self._built.added)
            self._built = None

    def _applied_as(self, tables: RouteTables, *, contributes: bool) -> AppliedAs:
        header = self.header
        return AppliedAs(
            broker_id=header.broker_id,
            enable_acting_master=header.enable_acting_master,
            zone_name=header.zone_name,
            compressed=header.compressed,
            version=self._version,
            body_crc32=header.body_crc32,
            contributes=contributes,
            deletes_missing=tables.rules.delete_topic_with_broker_registration,
        )

    def _can_skip(self, tables: RouteTables) -> bool:
        """Whether the server has applied the body under these circumstances (docs/decisions/0014)."""
        live = tables.broker_live_table.get(self.key)
        if live is None:
            return False
        header = self.header
        if not live.is_continued_by(header, self.channel):
            return False
        group = tables.broker_addr_table[header.broker_name]  # a live registration is a member of its group
        if (
            group.enable_acting_master != bool(header.enable_acting_master)
            or group.zone_name != header.zone_name
        ):
            return False
        contributes = header.broker_id == MASTER_ID or is_prime(header, group.broker_addrs)
        return (self._digest, self._applied_as(tables, contributes=contributes)) in live.applied_bodies

    def _refresh(self, edit: Edit) -> Applied[RegisterResult]:
        live = edit.tables.broker_live_table.get(self.key)
        assert live is not None
        put_live(
            edit, self.header, self.channel,
            owner=self._owner, data_version=live.data_version, body_bytes=len(self._body),
        )  # fmt: skip
        master = master_of(edit.tables, self.header)
        return edit.applied(structs.replace(master, outcome="short_cut"))

    def _remember(self, tables: RouteTables, body: RegistrationBody, assessment: Assessment) -> None:
        if self._built is not None and self._built.changed:
            tables.forget_bodies(self.header.broker_name)
        applied_as = self._applied_as(tables, contributes=assessment.contributes)
        tables.remember_body(self.key, self._digest, applied_as, is_full=has_all_topics(body))


def _update_rows(
    built: Built, topics: list[str], specs: list[QueueSpec], rows: list[TopicRow], *, upsert_all: bool
) -> tuple[list[str], list[TopicRow]]:
    """Change the rows that the name had; return the topics that it did not have, and their rows."""
    before, after, changed = built.before, built.after, built.changed
    new: list[str] = []
    new_rows: list[TopicRow] = []
    for topic, spec, new_row in zip(topics, specs, rows, strict=True):
        row = after.get(topic)
        if row is not None and not upsert_all and row.registered == spec:
            continue
        if topic not in before:
            new.append(topic)
            new_rows.append(new_row)
        elif row != new_row:
            after[topic] = new_row
            changed.append(topic)
    return new, new_rows
