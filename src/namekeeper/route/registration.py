"""REGISTER_BROKER: the rule of protocol.md 4.4 with docs/decisions/0003 and 0014.

A registration is decoded and its rows are built beside the tables, a slice in a turn; everything becomes
visible in one turn at the end (`commit.py`), judged on the state as it is then (`assessment.py`).
"""

from collections.abc import Callable, Collection, Generator
from itertools import islice

from msgspec import structs
from xxhash import xxh3_128_digest

from namekeeper.model.broker import MASTER_ID, BrokerKey
from namekeeper.model.now import Now
from namekeeper.model.perm import Perm
from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.model.topic import QueueSpec
from namekeeper.route.assessment import Assessment, assess, is_prime
from namekeeper.route.change import Applied, Edit, Turn, Turns, shown
from namekeeper.route.channel import Channel
from namekeeper.route.commit import Built, Commit, RegisterResult, master_of, put_live
from namekeeper.route.events import Cause, TopicRow
from namekeeper.route.live import AppliedAs, BrokerLiveInfo
from namekeeper.route.removal import trim_index
from namekeeper.route.rows import make_row
from namekeeper.route.tables import RouteTables

__all__ = ["RegisterBroker"]

ROW_SLICE = 2_000
"""Rows built in one turn: about a millisecond."""

SMALL_BODY_BYTES = 16_384
"""Bodies up to this size are decoded in the turn in which they arrive: well under a millisecond."""


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
            version: the request's version, which has a say in the body's form.
            channel: the connection it came over.
            decode: starts the decoding of the body, CRC first; raises RequestError for a bad one.
        """
        self.header = header
        self.channel = channel
        self._body = body
        self._version = version
        self._decode = decode

    @property
    def key(self) -> BrokerKey:
        """What identifies the registration."""
        return (self.header.cluster_name, self.header.broker_addr)

    @property
    def remote_addr(self) -> str | None:
        """Who asked."""
        return self.channel.remote_addr

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker name, and another one that the address is registered under so far."""
        live = tables.broker_live_table.get(self.key)
        return {self.header.broker_name} if live is None else {self.header.broker_name, live.broker_name}

    def arrive(self, tables: RouteTables, now: Now) -> None:
        """Count as a sign of life when the frame is complete, however long it waits (docs/decisions/0015)."""
        self.channel.note_carried(self.key, gen=tables.gen)
        live = tables.broker_live_table.get(self.key)
        if live is not None:
            live.note_arrival(now)

    def run(self, tables: RouteTables, turn: Turn) -> Turns[RegisterResult]:
        """Apply it, or nothing of it if its connection is closed."""
        if self._is_closed():
            return Applied(RegisterResult(outcome="closed"))
        digest = xxh3_128_digest(self._body)
        live = tables.broker_live_table.get(self.key)
        if live is not None and self._can_skip(tables, live, digest):
            return self._refresh(tables, live, turn.now)
        if len(self._body) > SMALL_BODY_BYTES:
            yield None
        body = structs.replace((yield from self._decode()), wire_bytes=len(self._body))
        self._body = b""
        built: Built | None = None
        while True:
            assessment = assess(tables, self.header, body)
            built = (yield from self._build(tables, body, assessment)) if assessment.contributes else None
            if self._is_closed():
                yield from self._give_up(tables, built)
                return Applied(RegisterResult(outcome="closed"))
            if assess(tables, self.header, body) == assessment:
                break
            yield from self._give_up(tables, built)
        commit = Commit(
            Edit(tables), self.header, self.channel, now=turn.now, body=body, assessment=assessment
        )
        result = commit.make_visible(built)
        if not assessment.is_stale and not assessment.is_guarded:
            self._remember(tables, digest, assessment, changed=bool(built and built.changed))
        return (yield from shown(commit.edit.applied(result), commit.clean_up(built)))

    def _is_closed(self) -> bool:
        return not self.channel.is_open

    def _build(
        self, tables: RouteTables, body: RegistrationBody, assessment: Assessment
    ) -> Generator[None, None, Built]:
        """Step 11 and 12, beside the tables; the index is extended as rows are built."""
        name = self.header.broker_name
        before = tables.topics_of(name)
        built = Built(before, dict(before))
        if assessment.delete_missing:
            keys = body.topic_keys if body.topic_keys is not None else body.topics.keys()
            for topic in [topic for topic in before if topic not in keys]:
                del built.after[topic]
                built.changed.append(topic)
                built.missing.append(topic)
        try:
            yield from self._build_rows(tables, body, assessment, built)
        except BaseException:
            tables.topic_index.discard(built.added, name)
            raise
        return built

    def _build_rows(
        self, tables: RouteTables, body: RegistrationBody, assessment: Assessment, built: Built
    ) -> Generator[None, None, None]:
        rows = _RowsBySpec(strip_write=assessment.strip_write)
        topics, specs = iter(body.topics), iter(body.topics.values())
        some = list(islice(topics, ROW_SLICE))
        while some:
            some_specs = list(islice(specs, ROW_SLICE))
            some_rows = rows.of(some_specs)
            if built.before:
                upsert_all = assessment.upsert_all
                some, some_rows = _update_rows(built, some, some_specs, some_rows, upsert_all=upsert_all)
            new = tables.topic_index.add(some, self.header.broker_name)
            built.added += new
            built.changed += new
            built.after.update(zip(new, some_rows, strict=True))
            some = list(islice(topics, ROW_SLICE))
            if some:
                yield

    def _give_up(self, tables: RouteTables, built: Built | None) -> Generator[None, None, None]:
        """Take back what a build put into the index."""
        if built is not None:
            yield from trim_index(tables, self.header.broker_name, built.added)

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

    def _can_skip(self, tables: RouteTables, live: BrokerLiveInfo, digest: bytes) -> bool:
        """Whether the body can be skipped undecoded: the exact rule is in docs/decisions/0014."""
        header = self.header
        if live.broker_name != header.broker_name or live.broker_id != header.broker_id:
            return False
        if live.channel is not self.channel:
            return False
        group = tables.broker_addr_table[header.broker_name]  # a live registration is a member of its group
        if (
            group.enable_acting_master != bool(header.enable_acting_master)
            or group.zone_name != header.zone_name
        ):
            return False
        contributes = header.broker_id == MASTER_ID or is_prime(header, group.broker_addrs)
        return (digest, self._applied_as(tables, contributes=contributes)) in live.applied_bodies

    def _refresh(self, tables: RouteTables, live: BrokerLiveInfo, now: Now) -> Applied[RegisterResult]:
        edit = Edit(tables)
        put_live(
            edit, self.header, self.channel, now, data_version=live.data_version, body_bytes=len(self._body)
        )
        master = master_of(tables, self.header)
        return edit.applied(structs.replace(master, outcome="short_cut"))

    def _remember(self, tables: RouteTables, digest: bytes, assessment: Assessment, *, changed: bool) -> None:
        if changed:
            for live in tables.broker_live_table.of_name(self.header.broker_name):
                live.applied_bodies.clear()
        live_now = tables.broker_live_table.get(self.key)
        assert live_now is not None
        live_now.applied_bodies.remember(digest, self._applied_as(tables, contributes=assessment.contributes))


class _RowsBySpec(dict[int, TopicRow]):
    """Rows by the identity of their specs, which the body holds: few, and shared."""

    def __init__(self, *, strip_write: bool) -> None:
        super().__init__()
        self._strip_write = strip_write

    def of(self, specs: list[QueueSpec]) -> list[TopicRow]:
        """The row of each spec."""
        for spec_id, spec in dict(zip(map(id, specs), specs, strict=True)).items():
            if spec_id not in self:
                strip = self._strip_write
                effective = structs.replace(spec, perm=spec.perm & ~Perm.WRITE) if strip else spec
                self[spec_id] = make_row(effective, spec)
        return list(map(self.__getitem__, map(id, specs)))


def _update_rows(
    built: Built, topics: list[str], specs: list[QueueSpec], rows: list[TopicRow], *, upsert_all: bool
) -> tuple[list[str], list[TopicRow]]:
    """Change the rows that a name had; returns topics that it did not have, and their rows."""
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
