"""Bugs of what bounds a change of the tables: its slices, what it keeps alive, and the limits of peers."""

from tests.mutants.mutant import Mutant

__all__ = ["CHANGE_MUTANTS"]

CHANGE_MUTANTS = (
    Mutant(
        "waiting-changes-in-one-turn",
        "route/change_queue.py",
        "            if not has_time():\n                break\n",
        "",
        "changes that waited start over several turns when time is short",
        ("route/test_change_queue.py",),
    ),
    Mutant(
        "newcomer-overtakes",
        "route/change_queue.py",
        "self._wait(entry, self._unsorted or self._waiting)",
        "self._wait(entry, self._waiting)",
        "changes of a lane are made in the order in which they came",
        ("route/test_change_queue.py",),
    ),
    Mutant(
        "first-come-first-served",
        "route/build_order.py",
        """        if builds:
            connections[addr] = builds
        if connections:
            self._hosts[host] = connections
""",
        """        if builds:
            connections[addr] = builds
        if connections:
            self._hosts = {host: connections, **self._hosts}
""",
        "hosts take turns, however many connections they have",
        ("route/test_build_order.py",),
    ),
    Mutant(
        "a-connection-runs-on",
        "route/build_order.py",
        """        if builds:
            connections[addr] = builds
        if connections:
            self._hosts[host] = connections
""",
        """        if builds:
            connections = {addr: builds, **connections}
        if connections:
            self._hosts[host] = connections
""",
        "connections of a host take turns",
        ("route/test_build_order.py", "route/test_change_queue.py"),
    ),
    Mutant(
        "long-builds-hold-up-short-ones",
        "route/build_order.py",
        "if build is None or build.slices_run < SHORT_SLICES or build.clean_up is not None:",
        "if build is None or True:",
        "a small registration passes large ones",
        ("route/test_build_order.py", "route/test_change_queue.py"),
    ),
    Mutant(
        "short-builds-hold-up-long-ones",
        "route/build_order.py",
        "        self._long_is_next = not self._long_is_next\n",
        "",
        "a long build goes on beside short ones",
        ("route/test_build_order.py",),
    ),
    Mutant(
        "many-long-builds-hold-memory",
        "route/build_order.py",
        "            build.begin_anew()\n",
        "",
        "a second long build begins anew",
        ("route/test_build_order.py",),
    ),
    Mutant(
        "visible-and-begun-anew",
        "route/build_order.py",
        "or build.slices_run < SHORT_SLICES or build.clean_up is not None:",
        "or build.slices_run < SHORT_SLICES:",
        "a change that is visible already is not begun anew",
        ("route/test_build_order.py",),
    ),
    Mutant(
        "closed-and-decoded",
        "route/registration.py",
        "        while slices is not None and not self._is_closed():\n",
        "        while slices is not None:\n",
        "the body of a closed connection is not decoded to its end",
        ("route/test_registration.py",),
    ),
    Mutant(
        "forgets-what-to-take-back",
        "route/registration.py",
        """            yield from trim_index(tables, self.header.broker_name, self._built.added)
            self._built = None
""",
        """            built, self._built = self._built, None
            yield from trim_index(tables, self.header.broker_name, built.added)
""",
        "a build that begins anew leaves nothing in the index",
        ("route/test_registration.py",),
    ),
    Mutant(
        "large-json-at-once",
        "messages/registration_body.py",
        "if len(body) > WHOLE_JSON_BYTES:",
        "if False:",
        "a large JSON body is read in pieces",
        ("messages/test_registration_body.py",),
    ),
    Mutant(
        "pieces-of-any-table",
        "messages/registration_body.py",
        "if rest is not body and table.pop(MARK, None) is None:",
        "if table.pop(MARK, None) is None and False:",
        "what was read in pieces was of the table that counts",
        ("messages/test_registration_body.py",),
    ),
    Mutant(
        "first-of-a-key-stays",
        "messages/registration_body.py",
        "if not self.keys.isdisjoint(keys):",
        "if False:",
        "of a key that comes twice only the last counts",
        ("messages/test_registration_body.py",),
    ),
    Mutant(
        "keys-of-earlier-pieces-forgotten",
        "messages/registration_body.py",
        "self.keys = set(islice(self.specs, count))",
        "self.keys = set()",
        "keys that are no names are kept over all pieces",
        ("messages/test_registration_body.py",),
    ),
    Mutant(
        "cut-inside-of-a-configuration",
        "messages/registration_body.py",
        "            break\n        yield piece\n",
        "            piece = {}\n        yield piece\n",
        "what only looks like the end of a configuration ends no piece",
        ("messages/test_topic_config_pieces.py", "messages/test_registration_body.py"),
    ),
    Mutant(
        "refused-body-waits-for-the-collector",
        "app/requests.py",
        "            self._fail(asked, applied)\n            return\n",
        "            try:\n                raise applied\n            except Exception as error:\n"
        "                self._fail(asked, error)\n            return\n",
        "the body of a refused registration is let go with its answer",
        ("app/test_requests.py",),
    ),
    Mutant(
        "bodies-of-those-who-left-stay",
        "app/requests.py",
        "            change.give_up()\n",
        "            pass\n",
        "a request that waits holds no body once its connection has closed",
        ("app/test_requests.py",),
    ),
    Mutant(
        "broken-connection-waits-for-the-collector",
        "remoting/connection.py",
        "self._frames.failure = str(failure)",
        "self._frames.failure = failure",
        "a connection with a broken frame leaves nothing for the collector",
        ("remoting/test_connection.py",),
    ),
    Mutant(
        "large-bodies-are-copied",
        "wire/frames.py",
        "if _LARGE_FRAME_BYTES <= self._wanted > self.buffered > _UNCLAIMED_BYTES:",
        "if False:",
        "the buffer of a large frame is not copied at its end",
        ("wire/test_frames.py",),
    ),
    Mutant(
        "series-in-one-turn",
        "app/requests.py",
        "            self._scheduler.start(self._submit_next)\n",
        "            while self._submit_next():\n                pass\n",
        "the end of thousands of brokers of one connection lets others be served",
        ("app/test_requests.py",),
    ),
    Mutant(
        "carried-brokers-counted",
        "route/channel.py",
        "    return ENTRY_BYTES + sum(map(len, broker))",
        "    return ENTRY_BYTES",
        "what a connection remembers of brokers is measured in bytes",
        ("route/test_channel.py",),
    ),
    Mutant(
        "fingerprint-of-names",
        "route/fingerprint.py",
        '"queues", name, topic, row.effective',
        '"queues", name, topic',
        "name servers whose topics differ only in their queues have different fingerprints",
        ("route/test_fingerprint.py",),
    ),
    Mutant(
        "fingerprint-of-the-order",
        "route/fingerprint.py",
        "sums[part] + sum(hashes)",
        "sums[part] * 3 + sum(hashes)",
        "the order in which brokers came makes no difference to the fingerprint",
        ("route/test_fingerprint.py",),
    ),
    Mutant(
        "fingerprint-of-no-instant",
        "route/fingerprint.py",
        "dict(tables.topic_queue_table), ",
        "tables.topic_queue_table, ",
        "a fingerprint is of one instant, though it is computed in slices",
        ("route/test_fingerprint.py",),
    ),
    Mutant(
        "fingerprint-at-any-time",
        "app/housekeeping.py",
        "asyncio.sleep((FINGERPRINT_MS - past_ms) / 1000)",
        "asyncio.sleep(FINGERPRINT_MS / 1000)",
        "all name servers take their fingerprints at the same instants",
        ("app/test_housekeeping.py",),
    ),
    Mutant(
        "scan-though-nothing-changed",
        "app/housekeeping.py",
        "        if revision == self._fingerprints_at:\n",
        "        if False:\n",
        "millions of rows are not scanned again if none of them has changed",
        ("app/test_housekeeping.py",),
    ),
    Mutant(
        "scan-passes-over-a-change",
        "app/housekeeping.py",
        "len(found.topic_list), revision\n",
        "len(found.topic_list), self._state.revision\n",
        "what changes while topics are scanned is seen by the next scan",
        ("app/test_housekeeping.py",),
    ),
    Mutant(
        "scan-forgets-kv-entries",
        "processor/kv.py",
        "        state.changed(event)\n",
        "        if event.namespace == 'ORDER_TOPIC_CONFIG':\n            state.changed(event)\n",
        "a change of any KV entry changes the fingerprint",
        ("app/test_housekeeping.py",),
    ),
    Mutant(
        "kv-printed-at-once",
        "app/housekeeping.py",
        "                yield\n        if left > 0:",
        "                pass\n        yield\n        if left > 0:",
        "the server handles other requests while the KV configuration is printed",
        ("app/test_housekeeping.py",),
    ),
    Mutant(
        "limit-refuses-who-is-there",
        "route/assessment.py",
        "if header.broker_name not in names and 0 < rules.broker_names_limit",
        "if 0 < rules.broker_names_limit",
        "a limit refuses what is new and nothing else",
        ("route/test_assessment.py",),
    ),
    Mutant(
        "memberships-not-counted",
        "route/tables.py",
        "        self.memberships += len(event.broker_names) -",
        "        self.memberships += 0 * len(event.broker_names) -",
        "broker names are counted in every cluster that has them",
        ("route/test_assessment.py",),
    ),
    Mutant(
        "heartbeat-names-of-any-length",
        "processor/limits.py",
        "if name is not None and len(name) > limit:",
        "if name is not None and len(name) > limit * 4_000:",
        "names that peers give have a limit",
        ("processor/test_limits.py", "processor/test_registration.py"),
    ),
    Mutant(
        "refusal-leaves-names",
        "route/commit.py",
        "        if assessment.is_refused:\n"
        "            return _refusal(assessment)\n"
        "        self._leave_other_name()\n        self._join_cluster()\n",
        "        self._leave_other_name()\n        self._join_cluster()\n"
        "        if assessment.is_refused:\n"
        "            return _refusal(assessment)\n",
        "a refused registration changes nothing",
        ("route/test_commit.py", "route/test_registration.py"),
    ),
    Mutant(
        "each-set-of-names-has-its-own-history",
        "route/broker_names.py",
        "        if not self._is_newest or self._position",
        "        if self._position or self._position",
        "a set of broker names made from the newest one costs one entry",
        ("route/test_broker_names.py",),
    ),
    Mutant(
        "old-set-of-names-grows",
        "route/broker_names.py",
        "        if not self._is_newest or self._position",
        "        if self._position",
        "a set of broker names never changes",
        ("route/test_broker_names.py",),
    ),
    Mutant(
        "copy-of-a-table-that-changed",
        "route/rows.py",
        "return copy if made_of is table else dict(table)",
        "return copy if made_of is not None else dict(table)",
        "a copy is used only if it was made of the table as it is now",
        ("route/test_rows.py",),
    ),
    Mutant(
        "each-entry-makes-a-table",
        "route/topics.py",
        "for broker_name, spec in dict(known).items()",
        "for broker_name, spec in reversed(list(known))",
        "of several entries of one broker name in a 217 the last one counts",
        ("route/test_topics.py",),
    ),
    Mutant(
        "permission-in-one-turn",
        "route/rows.py",
        "            if some:\n                yield\n\n\nclass TableCopies",
        "\n\nclass TableCopies",
        "205 and 327 of a large table are made in slices",
        ("route/test_topics.py",),
    ),
    Mutant(
        "log-keeps-tables",
        "app/log_lines.py",
        "            return _ShownRows(event.broker_name, rows, len(event.topics))",
        "            return event if topics == () else _ShownRows(event.broker_name, rows, len(event.topics))",
        "a log message that waits keeps no topic table alive",
        ("app/test_log_lines.py",),
    ),
    Mutant(
        "journal-keeps-tables",
        "journal/recording/weight.py",
        "    if len(topics) * _FEW < len(after):",
        "    if not topics:",
        "a change of one row keeps one row in the journal's queue",
        ("journal/recording/test_weight.py",),
    ),
    Mutant(
        "values-weigh-nothing",
        "journal/recording/weight.py",
        '_texts(event.namespace, event.key, event.value or "")',
        "0",
        "a change weighs the texts that it keeps alive",
        ("journal/recording/test_weight.py",),
    ),
)
