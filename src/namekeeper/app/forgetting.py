"""Has answers that a change made wrong forgotten in turns, between other requests."""

from collections.abc import Callable

from namekeeper.app.change_series import turn_timer
from namekeeper.clock import Clock
from namekeeper.processor.state import NameServerState

__all__ = ["forget_in_turns"]


def forget_in_turns(
    state: NameServerState, *, clock: Clock, call_soon: Callable[[Callable[[], None]], object]
) -> None:
    """Have what changes leave to forget be forgotten from now on in turns of the loop.

    Args:
        state: keeps the answers.
        clock: bounds a turn.
        call_soon: calls a function after the other connections had a turn.
    """
    forgetting = state.route_answers.forgetting

    def turn() -> None:
        has_time = turn_timer(clock)
        while forgetting.forget_some():
            if not has_time():
                call_soon(turn)
                return

    forgetting.when_unfinished(lambda: call_soon(turn))
