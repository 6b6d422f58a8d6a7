"""`namekeeper serve`: the same server as `mqnamesrv`, with every property as a flag.

argparse rather than click: it costs 3 ms of the start instead of 11.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from namekeeper.cli.launch import guarded, launch, load_startup, say
from namekeeper.config.property import GROUPS, Kind, Spec, format_value
from namekeeper.config.settings import SPECS

__all__ = ["main"]

_BAD_OPTION = 1


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit status."""
    return guarded(lambda: _main(arguments))


def _main(arguments: Sequence[str]) -> int:
    options = vars(_parser().parse_args(arguments))
    startup = load_startup(
        options.pop("config_file"), {spec.field: options.get(spec.field) for spec in SPECS.values()}
    )
    if options["print_config_item"]:
        for warning in startup.warnings:
            print(f"namekeeper: {warning}", file=sys.stderr)
        say(startup.runtime_config.text().rstrip("\n"))
        return 0
    return launch(startup)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong, with the status that Java's command has for a bad option."""
        self.print_usage(sys.stderr)
        self.exit(_BAD_OPTION, f"namekeeper: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="namekeeper serve",
        usage="%(prog)s [-h] [-c FILE] [-p] [--PROPERTY VALUE] ...",
        description="Run a name server.",
        epilog="Properties may also stand in the file, or in the environment (NAMEKEEPER_LISTEN_PORT ...).",
        allow_abbrev=False,
    )
    parser.add_argument("-c", "--config-file", "--configFile", metavar="FILE", help="Java properties file")
    parser.add_argument(
        "-p", "--print-config-item", "--printConfigItem", action="store_true", help="print all properties"
    )
    parser.add_argument(
        "-n", "--namesrv-addr", "--namesrvAddr", metavar="LIST", help="accepted, without effect"
    )
    for group, title in GROUPS.items():
        section = parser.add_argument_group(title)
        for spec in SPECS.values():
            if spec.facts.group is group:
                _add_flag(section, spec)
    return parser


def _add_flag(section: argparse._ArgumentGroup, spec: Spec) -> None:
    unit = f" ({spec.facts.unit})" if spec.facts.unit else ""
    text = f"{spec.facts.about}{unit}; {spec.name}, default: {format_value(spec.default) or 'none'}"
    section.add_argument(
        spec.flag,
        dest=spec.field,
        metavar=spec.kind.upper() if not spec.facts.choices else "|".join(spec.facts.choices),
        nargs="?" if spec.kind is Kind.BOOLEAN else None,
        const="true" if spec.kind is Kind.BOOLEAN else None,
        help=argparse.SUPPRESS if spec.facts.inert else text.replace("%", "%%"),
    )
