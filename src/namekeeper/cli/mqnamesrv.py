"""`mqnamesrv`, with the options, texts and exit statuses of RocketMQ's own (protocol.md 5.4)."""

import sys
from collections.abc import Sequence

from msgspec import structs

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
from namekeeper.cli.options import BadOptionError, read_options

__all__ = ["main"]

_USAGE = """\
usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]
 -c,--configFile <arg>    Name server config properties file
 -h,--help                Print help
 -n,--namesrvAddr <arg>   Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'
 -p,--printConfigItem     Print all config items"""

_NO_HOME = (
    "ROCKETMQ_HOME is not set: RocketMQ's own mqnamesrv would refuse to start, namekeeper doesn't need it"
)


def main() -> None:
    """Entry point of the command."""
    sys.exit(guarded(lambda: _main(sys.argv[1:])))


def _main(arguments: Sequence[str]) -> int:
    try:
        found, _ = read_options(arguments, JAVA_VALUES, JAVA_SWITCHES)
    except BadOptionError as error:
        complain(str(error))
        say(_USAGE)
        return BAD_OPTION
    options = dict(reversed(found))  # as commons-cli: the first value counts
    if "help" in options:
        say(_USAGE)
        return 0
    startup = load_startup(options.get("config_file"), {})
    if "print" in options:
        return print_config(startup)
    if not startup.settings.rocketmq_home:
        startup = structs.replace(startup, warnings=(*startup.warnings, _NO_HOME))
    return launch(startup)
