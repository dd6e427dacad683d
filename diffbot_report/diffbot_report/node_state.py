"""What the node that a report watches says about itself, free of ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

Four = tuple[float, float, float, float]
Pair = tuple[float, float]


class Phase(Enum):
    """Where the watched node is; the names are those of the constants of its messages."""

    WAITING = "waiting"
    EXCITING = "exciting"
    VERIFYING = "verifying"
    DRIVING = "driving"
    DONE = "done"
    STOPPED = "stopped"

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self in (Phase.DONE, Phase.STOPPED)


@dataclass(frozen=True)
class NodeState:
    """What all watched nodes say.

    Attributes:
        stamp: in robot time, ns.
        phase: where it is.
        message: what is waited for, or why the run stopped.
        elapsed: robot time since excitation or driving began, s.
        duration: robot time after which it ends by itself, s; 0: never, or for another reason.
        refused: joint states and inputs that were refused.
        statuses: messages on its status topic so far; 0 where it is not told.
    """

    stamp: int
    phase: Phase
    message: str = ""
    elapsed: float = 0.0
    duration: float = 0.0
    refused: int = 0
    statuses: int = 0


@dataclass(frozen=True)
class IdentState(NodeState):
    """What the ident node is doing.

    Attributes:
        velocity: body velocity [v in m/s, omega in rad/s].
        effort: torques that acted in the last control period, [left, right], N m.
        position: by odometry since excitation began, [x, y], m.
        information: about K5..K8 since excitation began, [achieved, predicted], bits; NaN where
            unknown.
        arena: [length along x, width along y], m, around where excitation began; None: no arena.
        guarded: control periods in which the speed guard replaced the excitation.
        estimates: estimates so far.
    """

    velocity: Pair = (0.0, 0.0)
    effort: Pair = (0.0, 0.0)
    position: Pair = (0.0, 0.0)
    information: Pair = (math.nan, math.nan)
    arena: Pair | None = None
    guarded: int = 0
    estimates: int = 0


@dataclass(frozen=True)
class ControllerState(NodeState):
    """What a controller is doing.

    Attributes:
        law: in use.
        torque_limit: of a wheel, N m.
        parameters: [K5, K6, K7, K8] in use; m, 1/m, 1/(kg m), 1/(kg m^2).
        parameters_source: where they come from.
        judgements: messages on ~/adaptation so far.
    """

    law: str = ""
    torque_limit: float = 0.0
    parameters: Four = (0.0, 0.0, 0.0, 0.0)
    parameters_source: str = ""
    judgements: int = 0
