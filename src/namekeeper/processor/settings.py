"""Requests about the running configuration: read and change (protocol.md 2.13, 2.14, 5.5)."""

from collections.abc import Mapping, Sequence

from namekeeper.model.now import Now
from namekeeper.processor.handlers import handles
from namekeeper.processor.outcome import Outcome, Save
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Change, ConfigChanged
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["get_namesrv_config", "reread_config", "update_namesrv_config"]


@handles(RequestCode.GET_NAMESRV_CONFIG)
def get_namesrv_config(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_NAMESRV_CONFIG (319)."""
    return Response(body=state.config.text().encode())


@handles(RequestCode.UPDATE_NAMESRV_CONFIG)
def update_namesrv_config(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Outcome:
    """UPDATE_NAMESRV_CONFIG (318): refused unless the operator allowed it, and never for paths."""
    if not request.body:
        return Outcome(Response())
    config, changed = state.config.update(request.body)
    state.reconfigure(config)
    events = (ConfigChanged(changed),) if changed else ()
    return Outcome(Response(), Change(Cause.UPDATE_CONFIG, channel.remote_addr, events), Save.CONFIG)


def reread_config(
    state: NameServerState, found: Mapping[str, str], *, source: str, given: frozenset[str]
) -> tuple[Change, Sequence[str]]:
    """Apply the changed lines of a properties file, as far as that is possible while running.

    Args:
        state: gets the changed settings.
        found: the lines of the file, see `read_lines`.
        source: its path, for messages.
        given: properties that a flag or the environment overrides.

    Returns:
        The change, which may have no events, and the names of properties that need a restart.

    Raises:
        ConfigError: the file can't be used; nothing has changed.
    """
    config, changed, waiting = state.config.reread(found, source=source, given=given)
    if config != state.config:
        state.reconfigure(config)
    return Change(Cause.UPDATE_CONFIG, None, (ConfigChanged(changed),) if changed else ()), waiting
