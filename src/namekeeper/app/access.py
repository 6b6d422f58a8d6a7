"""Access control of a running server: checks each request before it is handled, logs and counts."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from functools import partial
from itertools import count

from msgspec import Struct

from namekeeper.access.judged import TEXT_LIMIT, JudgedRequest, about, refusal_of, subject_of
from namekeeper.access.names import NO_NAMES, Names, names_in
from namekeeper.access.peer import Peer, peer_at
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.request_class import CLASSES, HTTP, HTTP_PAGES, TAKING_OVER
from namekeeper.access.rules import AccessMode, Decision, PeerRules
from namekeeper.access.signature import ACCESS_KEY, ANONYMOUS, Signer, signer_of, user_of_key
from namekeeper.app.access_files import AccessFiles
from namekeeper.app.journaling import Journaling
from namekeeper.app.requests import Requests
from namekeeper.common.printable import printable
from namekeeper.errors import RequestError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.messages.catalogue import RequestClass
from namekeeper.processor.state import NameServerState
from namekeeper.processor.touched import names_touched, with_brokers
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["NO_RULE", "AccessControl", "RefusalKey"]

log = logging.getLogger("namekeeper.access")

NO_RULE = "none"
"""The name in metrics of the missing rule, for a request that no rule covers."""

RefusalKey = tuple[str, str, str]
"""Class of the request, name of the rule, and the mode, which distinguishes refused from merely logged
requests."""

SMALL_BODY_BYTES = 64 * 1024
"""The server reads a larger body for its signature only if that can help. A megabyte takes two milliseconds,
and any peer that knows a user's name could hold up all others."""
_SHOWN = 100
"""Characters of a name from a peer that a message repeats."""
_SHOWN_NAMES = 4


class _Judgement(Struct, frozen=True):
    """One request, its sender, and the decision of the rules."""

    request: RemotingCommand
    connection: ServerConnection
    decision: Decision
    signer: Signer
    touched: Names | None = None
    """The names on which the decision depends; None: those in its header."""

    @property
    def names(self) -> Names:
        """The names that the request affects."""
        return self.touched or names_in(self.request.code, self.request.ext_fields)


class AccessControl:
    """Wraps the handler of all requests; only a server with a file of rules has it."""

    def __init__(
        self,
        files: AccessFiles,
        requests: Requests,
        state: NameServerState,
        *,
        journaling: Journaling,
        lookup_cache: LookupCache | None,
    ) -> None:
        """Prepare.

        Args:
            files: the source of the policy; the task that watches them calls `replace`.
            requests: handles the allowed requests.
            state: the state that rules about names are compared with.
            journaling: records the requests and their senders.
            lookup_cache: answers lookups of peers that may have its answers; None if no peer may.
        """
        self.files = files
        self._policy = files.policy
        self._requests = requests
        self._state = state
        self._journaling = journaling
        self._lookup_cache = lookup_cache
        self._scopes: dict[tuple[str, ...], bytes] = {}
        """Rules that can match a lookup -> the scope of the cache for all peers with these rules."""
        self._scope_numbers = count(1)
        """Numbers of scopes are never used again: the cache adds requests read before a change of rules in
        the old scope."""
        self._log_limit = LogLimit(log)
        self._refusals: Counter[RefusalKey] = Counter()

    @property
    def policy(self) -> AccessPolicy:
        """The rules and keys that hold now."""
        return self._policy

    def refusals(self) -> dict[RefusalKey, int]:
        """Number of refused requests; in the mode audit, of those that would have been refused."""
        return dict(self._refusals)

    def replace(self, policy: AccessPolicy, connections: Iterable[ServerConnection]) -> None:
        """Use another policy from now on, also for open connections, and drop cached answers."""
        self._policy = policy
        self._scopes = {}
        self._state.lookup_cache.forget_all()
        for connection in connections:
            connection.reset_access()

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> Response | None:
        """Answer like the handler.

        Raises:
            RequestError: the rules or the handler refuse the request.
        """
        code = request.code
        request_class = CLASSES.get(code)
        if request_class is None:  # no handler: every peer gets the answer "not supported"
            return self._requests(request, connection)
        peer_rules: PeerRules = connection.channel.access or self._meet(connection)
        signer = ANONYMOUS
        asks_who = request_class is not RequestClass.READ or peer_rules.needs_user(code)
        if asks_who and (len(request.body) <= SMALL_BODY_BYTES or peer_rules.may_allow(code)):
            signer = signer_of(request.ext_fields, request.body, self._policy.keys)
        channel = connection.channel
        channel.judge_brokers = None
        names = NO_NAMES
        if peer_rules.needs_names(code):
            names = names_touched(self._state, request)
            if code == RequestCode.REGISTER_BROKER:
                channel.judge_brokers = partial(self._judge_brokers, request, connection, signer, names)
        decision = peer_rules.judge(code, signer.user, names)
        channel.may_take_over = decision.takes_over
        judgement = _Judgement(request, connection, decision, signer)
        if self._is_recorded(request, decision):
            self._record(judgement)
        if not decision.allowed:
            self._refuse(judgement)
        elif request_class is RequestClass.ADMIN:
            who = self._who(connection, signer)
            what = f"{_what(code)}{_shown_names(judgement)}"
            self._log_limit.log(logging.INFO, "%s of %s is allowed by rule %r", what, who, decision.rule)
        channel.user = signer.user or ""
        return self._requests(request, connection)

    def refuse_page(self, client: Peer, token: str | None) -> str | None:
        """Why a client may not read the operators' HTTP pages; None if it may.

        Args:
            client: the identity that the connection proves.
            token: the secret key that it sends.
        """
        policy = self._policy
        user = None if token is None else user_of_key(token, policy.keys)
        decision = policy.rules.judge(HTTP_PAGES, client, user=user)
        if decision.allowed:
            return None
        mode = policy.rules.mode
        self._refusals[HTTP, decision.rule or NO_RULE, mode.value] += 1
        who = printable(", ".join(filter(None, (str(client.address), subject_of(client.certificate)))))
        text = f"a request of {who} for the HTTP pages is {refusal_of(decision)}"
        if mode is AccessMode.AUDIT:
            would = f"a request of {who} for the HTTP pages would be {refusal_of(decision)}"
            self._log_limit.log(logging.WARNING, "audit only: %s", would)
            return None
        self._log_limit.log(logging.WARNING, "%s", text)
        return text

    def _judge_brokers(
        self,
        request: RemotingCommand,
        connection: ServerConnection,
        signer: Signer,
        names: Names,
        brokers: Collection[str],
    ) -> None:
        """Check a registration again, by the brokers whose static-topic mappings its body has.

        Raises:
            RequestError: it is refused.
        """
        peer_rules: PeerRules = connection.channel.access or self._meet(connection)
        touched = with_brokers(self._state, names, brokers)
        decision = peer_rules.judge(request.code, signer.user, touched)
        if decision.allowed:
            return
        judgement = _Judgement(request, connection, decision, signer, touched)
        self._record(judgement)
        text = self._note_refusal(judgement)
        if self._policy.rules.mode is AccessMode.ENFORCE:
            self._journaling.refused(request, connection.channel.remote_addr, _reason(decision))
            raise RequestError(ResponseCode.NO_PERMISSION, text)

    def _is_recorded(self, request: RemotingCommand, decision: Decision) -> bool:
        """Whether the journal records it: an admin request, or a registration that is new or refused."""
        code = request.code
        if code == RequestCode.REGISTER_BROKER and decision.allowed:
            fields = request.ext_fields or {}
            key = (fields.get("clusterName", ""), fields.get("brokerAddr", ""))
            return key not in self._state.tables.broker_live_table
        if code in TAKING_OVER:
            return not decision.allowed
        return CLASSES[code] is RequestClass.ADMIN

    def _record(self, judgement: _Judgement) -> None:
        channel = judgement.connection.channel
        self._journaling.judged(
            JudgedRequest(
                code=judgement.request.code,
                peer=channel.remote_addr,
                decision=judgement.decision,
                mode=self._policy.rules.mode,
                user=judgement.signer.user,
                claimed=_claimed(judgement),
                certificate=channel.certificate_name,
                about=about(judgement.names),
            )
        )

    def _meet(self, connection: ServerConnection) -> PeerRules:
        """Find the rules for a peer, and its part of the lookup cache."""
        channel = connection.channel
        peer = peer_at(channel.remote_addr, channel.certificate)
        channel.access = peer_rules = PeerRules(self._policy.rules, peer)
        scope = self._scope(peer_rules)
        connection.reader.use_cache(None if scope is None else self._lookup_cache, scope or b"")
        return peer_rules

    def _scope(self, peer_rules: PeerRules) -> bytes | None:
        """The part of the lookup cache for a peer; None if it may look up nothing.

        Peers that may look up everything share all answers. If the decision depends on user or topic, both
        are in the bytes of the request. So peers with the same rules share their answers.
        """
        rules = peer_rules.for_code(RequestCode.GET_ROUTEINFO_BY_TOPIC)
        if not peer_rules.may_allow(RequestCode.GET_ROUTEINFO_BY_TOPIC):
            return None
        if rules[0].is_certain:
            return b""
        names = tuple(rule.name for rule in rules)
        if names not in self._scopes:
            self._scopes[names] = b"%d " % next(self._scope_numbers)
        return self._scopes[names]

    def _refuse(self, judgement: _Judgement) -> None:
        """Count and log a refusal; raise it unless the rules are on trial."""
        text = self._note_refusal(judgement)
        request = judgement.request
        if self._policy.rules.mode is AccessMode.AUDIT:
            request.header = b""  # not cached, so that the next one is noted too
            return
        self._requests.counts[request.code] += 1
        self._requests.failed(request, judgement.connection, _reason(judgement.decision))
        raise RequestError(ResponseCode.NO_PERMISSION, text)

    def _note_refusal(self, judgement: _Judgement) -> str:
        """Count and log a refusal; return it in words."""
        request, decision, signer = judgement.request, judgement.decision, judgement.signer
        mode = self._policy.rules.mode
        self._refusals[CLASSES[request.code].value, decision.rule or NO_RULE, mode.value] += 1
        what = f"{_what(request.code)}{_shown_names(judgement)}"
        verb = "would be" if mode is AccessMode.AUDIT else "is"
        text = f"{what} of {self._who(judgement.connection, signer)} {verb} {refusal_of(decision)}"
        if signer.objection:
            user = printable(_claimed(judgement))[:_SHOWN]
            text = f"{text}; user {user!r} is not proved: {signer.objection}"
        form = "audit only: %s" if mode is AccessMode.AUDIT else "%s"
        self._log_limit.log(logging.WARNING, form, text)
        return text

    def _who(self, connection: ServerConnection, signer: Signer) -> str:
        """The peer as the log and the remark name it."""
        channel = connection.channel
        parts = (channel.remote_addr, f"user {signer.user}" if signer.user else "", channel.certificate_name)
        return printable(", ".join(filter(None, parts)))


def _claimed(judgement: _Judgement) -> str:
    """The user that a request names without a proof."""
    if judgement.signer.user is not None:
        return ""
    return (judgement.request.ext_fields or {}).get(ACCESS_KEY, "")[:TEXT_LIMIT]


def _what(code: int) -> str:
    return f"{RequestCode(code).name} ({code})"


def _shown_names(judgement: _Judgement) -> str:
    """The first names of a request, each with a blank before it."""
    shown = about(judgement.names)[:_SHOWN_NAMES]
    return printable("".join(f" {name[:_SHOWN]}" for name in shown))


def _reason(decision: Decision) -> RequestError:
    """The refusal that the journal counts: without the peer."""
    return RequestError(ResponseCode.NO_PERMISSION, refusal_of(decision))
