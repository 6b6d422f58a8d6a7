"""`namekeeper serve`: the same server as `mqnamesrv`, with every property as a flag."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence

from namekeeper.cli.launch import (
    BAD_OPTION,
    JAVA_SWITCHES,
    JAVA_VALUES,
    complain,
    guarded,
    launch,
    load_startup,
    print_config,
    say,
)
from namekeeper.cli.options import BadOptionError, parse_options
from namekeeper.config.property import GROUPS, PropertyKind, Spec, format_value
from namekeeper.config.settings import SPECS

__all__ = ["main"]

_USAGE = """\
Usage: namekeeper serve [-c FILE] [-p] [--PROPERTY VALUE] ...

  Run a name server.

  Every property may be given as a flag, as an environment variable (NAMEKEEPER_LISTEN_PORT ...) or in
  the file, in this order.

Options:
  -c, --config-file FILE     Java properties file; `--configFile` is understood too
  -p, --print-config-item    Print all properties, then end
  -n, --namesrv-addr LIST    Accepted, without effect on a name server
  -h, --help                 Show this message, then end"""

_VALUES = {
    **JAVA_VALUES,
    "--config-file": "config_file",
    "--namesrv-addr": "namesrv_addr",
    **{spec.flag: spec.field for spec in SPECS.values() if spec.kind is not PropertyKind.BOOLEAN},
}
_SWITCHES = {
    **JAVA_SWITCHES,
    "--print-config-item": "print",
    "--until-eof": "until_eof",
    **{spec.flag: spec.field for spec in SPECS.values() if spec.kind is PropertyKind.BOOLEAN},
}
_OURS = {*_VALUES, *_SWITCHES} - {*JAVA_VALUES, *JAVA_SWITCHES}


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit status."""
    return guarded(lambda: _main(arguments))


def _main(arguments: Sequence[str]) -> int:
    try:
        options = parse_options(arguments, _VALUES, _SWITCHES, ours=_OURS)
    except BadOptionError as error:
        complain(f"namekeeper: {error}; see namekeeper serve --help")
        return BAD_OPTION
    if "help" in options:
        say("\n".join((_USAGE, *_help())))
        return 0
    startup = load_startup(options.get("config_file"), options)
    if "print" in options:
        return print_config(startup)
    if "until_eof" in options:  # a killed parent can't end it
        threading.Thread(target=_stop_at_eof, daemon=True).start()
    return launch(startup)


def _stop_at_eof() -> None:
    """Stop the server in order when its input ends."""
    while os.read(0, 4_096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _help() -> Iterator[str]:
    for group, title in GROUPS.items():
        yield f"\n{title}:"
        for spec in SPECS.values():
            if spec.facts.group is group and not spec.facts.inert:
                yield from _help_of(spec)


def _help_of(spec: Spec) -> Iterator[str]:
    value = (
        "" if spec.kind is PropertyKind.BOOLEAN else f" {'|'.join(spec.facts.choices) or spec.kind.upper()}"
    )
    unit = f", {spec.facts.unit}" if spec.facts.unit else ""
    yield f"  {spec.flag}{value}"
    yield f"      {spec.facts.about}."
    yield f"      {spec.name}{unit}; default: {format_value(spec.default) or 'none'}"
