"""`mqnamesrv`, with the options, texts and exit statuses of RocketMQ's own (protocol.md 5.4)."""

import sys
from collections.abc import Sequence

from msgspec import Struct, structs

from namekeeper.cli.launch import guarded, launch, load_startup, say

__all__ = ["main"]

_USAGE = """\
usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]
 -c,--configFile <arg>    Name server config properties file
 -h,--help                Print help
 -n,--namesrvAddr <arg>   Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'
 -p,--printConfigItem     Print all config items
"""

_BAD_OPTION = 1
_WITH_VALUE = {
    "-c": "c",
    "--configFile": "c",
    "-configFile": "c",
    "-n": "n",
    "--namesrvAddr": "n",
    "-namesrvAddr": "n",
}
_WITHOUT_VALUE = {
    "-h": "h",
    "--help": "h",
    "-help": "h",
    "-p": "p",
    "--printConfigItem": "p",
    "-printConfigItem": "p",
}
_NO_HOME = (
    "ROCKETMQ_HOME is not set: RocketMQ's own mqnamesrv would refuse to start, namekeeper doesn't need it"
)


def main() -> None:
    """Entry point of the command."""
    sys.exit(guarded(lambda: _main(sys.argv[1:])))


class _Options(Struct):
    config_file: str | None = None
    help: bool = False
    print_config: bool = False
    error: str | None = None


def _main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    if options.error:
        print(options.error, file=sys.stderr)
        say(_USAGE.rstrip())
        return _BAD_OPTION
    if options.help:
        say(_USAGE.rstrip())
        return 0
    startup = load_startup(options.config_file, {})
    if not startup.settings.rocketmq_home:
        startup = structs.replace(startup, warnings=(*startup.warnings, _NO_HOME))
    if options.print_config:
        say(startup.runtime_config.text().rstrip("\n"))
        return 0
    return launch(startup)


def _parse(arguments: Sequence[str]) -> _Options:
    """Read options as commons-cli does: long ones with one dash or two, values apart or after `=`."""
    options = _Options()
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in _WITHOUT_VALUE and not equals:
            options.help |= _WITHOUT_VALUE[name] == "h"
            options.print_config |= _WITHOUT_VALUE[name] == "p"
        elif name in _WITH_VALUE:
            if not equals and not rest:
                options.error = f"Missing argument for option: {_WITH_VALUE[name]}"
                return options
            value = value if equals else rest.pop(0)
            options.config_file = value if _WITH_VALUE[name] == "c" else options.config_file
        elif name.startswith("-") and name != "-":
            options.error = f"Unrecognized option: {name}{equals}{value}"
            return options
    return options
