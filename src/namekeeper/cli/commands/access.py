"""`namekeeper access check | explain`: tries out a file of rules before a server reads it."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import structs

from namekeeper.access.judged import about
from namekeeper.access.names import Names
from namekeeper.access.peer import Peer
from namekeeper.access.planning import plan_parts
from namekeeper.access.request_class import CLASSES, HTTP, HTTP_PAGES, PLANNING, PLANNING_REQUESTS
from namekeeper.access.rules import AccessCase, AccessMode, AccessRules, Decision, RuleVerdict, explain
from namekeeper.app.access_files import read_policy, read_rules
from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo
from namekeeper.common.counts import shown_count
from namekeeper.common.networks import parse_ip
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError
from namekeeper.wire.codes import RequestCode

__all__ = ["check", "explain_command"]

EXIT_NOT_ALLOWED = 1
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

_OWN_NAMES = {HTTP: HTTP_PAGES, PLANNING: PLANNING_REQUESTS}
"""Requests without a code -> their number among the codes."""
_SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.command("check", context_settings=_SETTINGS)
@click.argument("file", metavar="FILE")
def check(file: str) -> None:
    """Read the rules in FILE and the keys that it names, as a server would, and say what was found.

    Exits with 0 if a server can use them, 2 if not.
    """
    try:
        policy = read_policy(file, os.environ).policy
    except ConfigError as error:
        raise CommandRefused(str(error)) from None
    rules = policy.rules
    found = f"{shown_count(len(rules.rules), 'rule')}, {shown_count(len(policy.keys), 'user')}"
    echo(f"{file} can be used: {found}, mode {rules.mode.value}")
    for line in _remarks(rules):
        echo(line)
    if Path(file).stat().st_mode & OTHERS_MAY_WRITE:
        echo(f"others may write {file}, and so decide who may do what: chmod go-w {file}")


@click.command("explain", context_settings=_SETTINGS)
@click.argument("file", metavar="FILE")
@click.option(
    "--code",
    "code_text",
    required=True,
    metavar="CODE",
    help="Request code, such as 103; http: the HTTP pages; planning: a maintenance window of the names, or"
    " without names the expected state.",
)
@click.option("--peer", metavar="IP", help="Address that the request comes from.")
@click.option("--user", help="Access key that signed the request.")
@click.option("--certificate", multiple=True, metavar="NAME", help="A name in the client certificate.")
@click.option("--cluster", multiple=True, help="A cluster that the request names.")
@click.option("--broker", multiple=True, help="A broker name that the request names.")
@click.option("--topic", multiple=True, help="A topic that the request names.")
@click.option("--namespace", multiple=True, help="A KV namespace that the request names.")
def explain_command(  # noqa: PLR0913 - one for each option
    file: str,
    *,
    code_text: str,
    peer: str | None,
    user: str | None,
    certificate: tuple[str, ...],
    cluster: tuple[str, ...],
    broker: tuple[str, ...],
    topic: tuple[str, ...],
    namespace: tuple[str, ...],
) -> None:
    """Say what the rules in FILE do with a request, and which rule decides; --user counts as proved.

    Exits with 0 if the rules allow it, 1 if they refuse it, 2 if the rules can't be read.
    """
    names = Names(frozenset(cluster), frozenset(broker), frozenset(topic), frozenset(namespace))
    try:
        code = _code(code_text)
        case = AccessCase(code=code, peer=_peer(peer, certificate), user=user, names=names)
        rules = read_rules(file)
    except ConfigError as error:
        raise CommandRefused(str(error)) from None
    parts = plan_parts(names) if code == PLANNING_REQUESTS else [names]
    is_allowed = True
    for part in parts:
        one = structs.replace(case, names=part)
        decision, verdicts = explain(rules, one)
        for line in _lines(rules, one, decision, verdicts):
            echo(line)
        is_allowed &= decision.allowed
    if not is_allowed:
        sys.exit(EXIT_NOT_ALLOWED)


def _code(text: str) -> int:
    if text in _OWN_NAMES:
        return _OWN_NAMES[text]
    if text.isdecimal() and int(text) in CLASSES:
        return int(text)
    raise ConfigError(f"a name server does not know code {text}: rules say nothing about it")


def _peer(text: str | None, certificate: tuple[str, ...]) -> Peer:
    try:
        return Peer(None if text is None else parse_ip(text), certificate)
    except ValueError:
        raise ConfigError(f"--peer {text!r} is not an IP address: write 10.1.2.3 or fd00::1") from None


def _lines(
    rules: AccessRules, case: AccessCase, decision: Decision, verdicts: list[RuleVerdict]
) -> Iterator[str]:
    verb = "allowed" if decision.allowed else "refused"
    rule = "no rule covers it" if decision.rule is None else f"by rule {decision.rule!r}"
    if case.code == HTTP_PAGES and decision.rule is None and decision.allowed:
        rule = "no rule is about them"
    if decision.takes_over:
        rule = f"{rule}, also in the place of a live broker of another host"
    is_plan = case.code == PLANNING_REQUESTS
    names = "".join(f" {each}" for each in about(case.names)) if is_plan else ""
    yield printable(f"{_name(case.code)}{names}: {verb}, {rule}")
    if not decision.allowed and rules.mode is AccessMode.AUDIT and not is_plan:
        yield "mode audit: a server logs and counts the refusal, and handles the request"
    for verdict in verdicts:
        yield f"  {verdict.rule}: {verdict.text}"


def _name(code: int) -> str:
    own = next((name for name, number in _OWN_NAMES.items() if number == code), None)
    return own or f"{RequestCode(code).name} ({code}, {CLASSES[code].value})"


def _remarks(rules: AccessRules) -> Iterator[str]:
    """Probable mistakes: rules that never decide, and classes that nobody may use."""
    for position, rule in enumerate(rules.rules):
        everybody = rule.is_certain and rule.networks is None and rule.certificates is None
        for later in rules.rules[position + 1 :] if everybody else ():
            if later.codes <= {code for code in rule.codes if rule.covers_code(code)}:
                yield f"rule {later.name!r} never holds: {rule.name!r} decides before it, for everybody"
    for rule in rules.rules:
        if HTTP_PAGES in rule.codes and rule.certificates is not None:
            yield f"rule {rule.name!r} opens pages only where httpTlsNeedClientAuth asks for certificates"
    allowed = {code for rule in rules.rules if rule.allows for code in rule.codes if rule.covers_code(code)}
    if not any(CLASSES.keys() & rule.codes for rule in rules.rules):
        yield "no rule is about requests to a name server, which would refuse them all"
        return
    for code in sorted(CLASSES.keys() - allowed):
        yield f"nobody may send {_name(code)}"
