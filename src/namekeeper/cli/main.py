"""`namekeeper`: one command for everything; each sub-command is imported when it is asked for."""

import gc
import sys
from importlib import import_module

__all__ = ["main"]

_OF_ROCKETMQ = ("mqadmin", "mqnamesrv", "mqshutdown")
"""Names by which the scripts of the same names call this command."""


def main() -> None:
    """Entry point of the command; the server itself starts without click."""
    if sys.argv[1:2] in [["serve"], ["mqnamesrv"]]:
        from namekeeper.app.stop_signals import start_with_signals

        start_with_signals()
    if sys.argv[1:2] in [[name] for name in _OF_ROCKETMQ]:
        del sys.argv[0]
        import_module(f"namekeeper.cli.{sys.argv[0]}").main()
    if sys.argv[1:2] == ["serve"]:
        gc.disable()  # 7 of 105 ms of the start; `spare_the_collector` turns it on again
        from namekeeper.cli.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    from namekeeper.app.process import spare_the_collector

    spare_the_collector()
    from namekeeper.cli.group import namekeeper

    namekeeper(prog_name="namekeeper")
