"""Requests about the running configuration: read and change (protocol.md 2.13, 2.14, 5.5)."""

from namekeeper.model.now import Now
from namekeeper.processor.outcome import Outcome, Save
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Change, ConfigChanged
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["get_namesrv_config", "update_namesrv_config"]


def get_namesrv_config(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_NAMESRV_CONFIG (319)."""
    return Response(body=state.config.text().encode())


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
