"""System properties for a JVM, in the environment variables that RocketMQ's start scripts and Java read."""

import shlex
from collections.abc import Mapping
from typing import Final

from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable

__all__ = ["HOME", "NAMESRV_ADDR", "ROCKETMQ_HOME", "ignored_options", "system_properties"]

HOME: Final = "user.home"
ROCKETMQ_HOME: Final = "rocketmq.home.dir"
NAMESRV_ADDR: Final = "rocketmq.namesrv.addr"

_OF_SCRIPTS = ("JAVA_OPT", "JAVA_OPT_EXT")
"""Scripts paste these into the command line, where quotes are characters like any other."""
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", *_OF_SCRIPTS, "_JAVA_OPTIONS")
"""Environment variables in the order in which Java reads them: the last value of a property counts."""

_INSTEAD = {
    "rmq.logback.configurationFile": "see the properties that begin with log",
    "logback.configurationFile": "see the properties that begin with log",
}
_OF_ROCKETMQ = ("rocketmq.", "com.rocketmq.", "tls.", "rmq.")
_ELSEWHERE = frozenset({HOME, ROCKETMQ_HOME, NAMESRV_ADDR})


def system_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """All system properties that the environment gives to a Java process; empty values are left out."""
    found: dict[str, str] = {}
    for variable in _VARIABLES:
        for word in _words(variable, environment):
            if word.startswith("-D"):
                name, _, text = word[2:].partition("=")
                found[name] = text
    return {name: text for name, text in found.items() if text}


def ignored_options(environment: Mapping[str, str], known: Mapping[str, object]) -> list[str]:
    """Warnings about options that change what RocketMQ's name server does, and nothing here.

    Args:
        environment: Environment variables.
        known: Names in properties files. Those with a dot are Java's system properties.
    """
    warnings = []
    dotted = [name for name in known if "." in name]
    for variable in _VARIABLES:
        for word in _words(variable, environment):
            name = word[2:].partition("=")[0]
            if word.startswith("-javaagent:"):
                what = "there is no Java here; /metrics has the metrics"
            elif not word.startswith("-D") or name in _ELSEWHERE or name in dotted:
                continue
            elif name in known:
                what = "RocketMQ has no such system property; write it into the properties file"
            elif name in _INSTEAD:
                what = _INSTEAD[name]
            elif name.startswith(_OF_ROCKETMQ):
                what = f"it is no property{did_you_mean(name, dotted)}"
            else:
                continue
            option = word.partition("=")[0]
            warnings.append(f"{variable}: {printable(option)} has no effect: {what}")
    return warnings


def _words(variable: str, environment: Mapping[str, str]) -> list[str]:
    text = environment.get(variable, "")
    if variable not in _OF_SCRIPTS:
        try:
            return shlex.split(text)
        except ValueError:
            pass  # an open quote, with which no JVM would start
    return text.split()
