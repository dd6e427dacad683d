"""What a controller says about itself, free of ROS."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerSample:
    """What a controller is doing.

    Attributes:
        time: stamp in robot time, s.
        phase: "waiting", "driving", "done" or "stopped".
        message: what is waited for, or why the run stopped.
        elapsed: robot time since driving began, s.
        duration: robot time after which it ends by itself, s; 0: never, or with its reference.
        refused: joint states and inputs that were refused.
        law: in use.
        torque_limit: of a wheel, N m.
        parameters: [K5, K6, K7, K8] in use; m, 1/m, 1/(kg m), 1/(kg m^2).
        parameters_source: where they come from.
        statuses: messages on ~/status so far; 0 where it is not told.
        judgements: messages on ~/adaptation so far.
    """

    time: float
    phase: str
    message: str = ""
    elapsed: float = 0.0
    duration: float = 0.0
    refused: int = 0
    law: str = ""
    torque_limit: float = 0.0
    parameters: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    parameters_source: str = ""
    statuses: int = 0
    judgements: int = 0
