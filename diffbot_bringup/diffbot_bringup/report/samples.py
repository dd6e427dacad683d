"""What the ident node reports at one instant, free of ROS."""

from __future__ import annotations

from dataclasses import dataclass

UNESTIMATED = "unestimated"
ESTIMATED = "estimated"
INVALID = "invalid"

WAITING = "waiting"
EXCITING = "exciting"
DONE = "done"
STOPPED = "stopped"


@dataclass(frozen=True)
class ParameterSample:
    """One estimate of K5..K8 of (41) of Lages (2017); units m, 1/m, 1/(kg m), 1/(kg m^2).

    Attributes:
        time: stamp in robot time, s.
        values: [K5, K6, K7, K8].
        variances: of the values, in their units squared; infinite where not identifiable.
        state: "unestimated", "estimated" or "invalid".
        reason: why the state is not "estimated".
        samples: control periods that the estimate rests on.
        residual_std: of [dv/dt in m/s^2, domega/dt in rad/s^2].
    """

    time: float
    values: tuple[float, float, float, float]
    variances: tuple[float, float, float, float]
    state: str = ESTIMATED
    reason: str = ""
    samples: int = 0
    residual_std: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class StatusSample:
    """What the ident node is doing.

    Attributes:
        time: stamp in robot time, s.
        phase: "waiting", "exciting", "done" or "stopped".
        message: what is waited for, or why the run stopped.
        elapsed: robot time since excitation began, s.
        duration: robot time after which excitation ends, s; 0 means never.
        velocity: body velocity [v in m/s, omega in rad/s].
        effort: torques that acted in the last control period, [left, right], N m.
        guarded: control periods in which the speed guard replaced the excitation.
        refused: joint states that were refused.
    """

    time: float
    phase: str
    message: str = ""
    elapsed: float = 0.0
    duration: float = 0.0
    velocity: tuple[float, float] = (0.0, 0.0)
    effort: tuple[float, float] = (0.0, 0.0)
    guarded: int = 0
    refused: int = 0
