# SPDX-License-Identifier: Apache-2.0
"""The stop state machine of a commanding node: one table of states and events; knows no ROS.

CommandGuard follows it, docs/stop_states.py writes it into docs/safety.md, and a test explores it
exhaustively.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Sends(Enum):
    """What a commanding node sends in a state."""

    NOTHING = "nothing"
    LAW = "the law's, within limit and rate limit"
    ZERO = "zero"
    ZERO_IF_ALONE = "zero, unless another node commands"


class GuardState(Enum):
    """Name on `diagnostics`, level there, what is sent, and when the node is in the state."""

    WAITING = ("waiting", "WARN", Sends.NOTHING, "before the first state")
    EARLY_STOPPED = ("stopped", "ERROR", Sends.NOTHING, "stopped before the first state")
    EARLY_PRESSED = ("stopped", "ERROR", Sends.NOTHING, "emergency stop before the first state")
    HOLDING = ("holding", "WARN", Sends.ZERO, "until the next good state")
    SILENT = ("holding", "STALE", Sends.ZERO, "no state arrives")
    ACTIVE = ("active", "OK", Sends.LAW, "states are answered")
    STOPPED = ("stopped", "ERROR", Sends.ZERO, "until somebody enables the node")
    PRESSED = ("stopped", "ERROR", Sends.ZERO, "until the emergency stop is released")
    EARLY_ENDED = ("ended", "WARN", Sends.ZERO_IF_ALONE, "ended before the first state")
    ENDED = ("ended", "WARN", Sends.ZERO, "the process ends")

    def __init__(self, label: str, level: str, sends: Sends, meaning: str) -> None:
        self.label, self.level, self.sends, self.meaning = label, level, sends, meaning


class StopEvent(Enum):
    """What happens to a commanding node; the values are the heads of the table on the page."""

    STATE = "a state"
    """A state of the robot has come while nothing else is missing."""
    ANSWER = "an answer"
    """The law has answered a good state by a finite command."""
    REFUSAL = "a refusal"
    """A check or the law refuses a state or an input."""
    SILENCE = "silence"
    STOP = "stop"
    PRESS = "press"
    RELEASE = "release"
    ENABLE = "enable"
    END = "end"


_G, _E = GuardState, StopEvent

TRANSITIONS: Mapping[GuardState, Mapping[StopEvent, GuardState]] = {
    _G.WAITING: {
        _E.STATE: _G.HOLDING,
        _E.STOP: _G.EARLY_STOPPED,
        _E.PRESS: _G.EARLY_PRESSED,
        _E.END: _G.EARLY_ENDED,
    },
    _G.EARLY_STOPPED: {
        _E.STATE: _G.STOPPED,
        _E.PRESS: _G.EARLY_PRESSED,
        _E.ENABLE: _G.WAITING,
        _E.END: _G.EARLY_ENDED,
    },
    _G.EARLY_PRESSED: {
        _E.STATE: _G.PRESSED,
        _E.RELEASE: _G.EARLY_STOPPED,
        _E.END: _G.EARLY_ENDED,
    },
    _G.HOLDING: {
        _E.ANSWER: _G.ACTIVE,
        _E.SILENCE: _G.SILENT,
        _E.STOP: _G.STOPPED,
        _E.PRESS: _G.PRESSED,
        _E.END: _G.ENDED,
    },
    _G.SILENT: {
        _E.ANSWER: _G.ACTIVE,
        _E.REFUSAL: _G.HOLDING,
        _E.STOP: _G.STOPPED,
        _E.PRESS: _G.PRESSED,
        _E.END: _G.ENDED,
    },
    _G.ACTIVE: {
        _E.REFUSAL: _G.HOLDING,
        _E.SILENCE: _G.SILENT,
        _E.STOP: _G.STOPPED,
        _E.PRESS: _G.PRESSED,
        _E.END: _G.ENDED,
    },
    _G.STOPPED: {_E.PRESS: _G.PRESSED, _E.ENABLE: _G.HOLDING, _E.END: _G.ENDED},
    _G.PRESSED: {_E.RELEASE: _G.STOPPED, _E.END: _G.ENDED},
    _G.EARLY_ENDED: {},
    _G.ENDED: {},
}
"""What an event leads to; an event that is not named leaves the state as it is."""


def after(state: GuardState, event: StopEvent) -> GuardState:
    """Return the state after an event.

    Example:
        >>> after(GuardState.ACTIVE, StopEvent.PRESS).name
        'PRESSED'
    """
    return TRANSITIONS[state].get(event, state)
