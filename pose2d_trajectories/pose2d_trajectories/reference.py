"""What a trajectory says at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Reference:
    """Pose, velocity and acceleration that a robot should have at one time.

    They belong together as on a robot that rolls without slip: x' = v cos theta,
    y' = v sin theta, theta' = omega, v' = dv, omega' = domega.

    Attributes:
        x: position of the middle of the axle, m, in the frame of the trajectory (odom).
        y: as x, m.
        theta: heading, rad, counter-clockwise from the x axis; continuous, it counts whole turns.
        v: velocity along the robot's own x axis, m/s, negative backwards.
        omega: yaw rate, rad/s.
        dv: rate of change of v, m/s^2.
        domega: rate of change of omega, rad/s^2.
    """

    x: float
    y: float
    theta: float
    v: float
    omega: float
    dv: float
    domega: float


class Trajectory(Protocol):
    """A reference over time; it starts at t = 0."""

    @property
    def duration(self) -> float:
        """Time at which the robot has come to rest for good, s; math.inf for endless ones."""

    def at(self, t: float) -> Reference:
        """The reference at time t, s.

        Before 0 it rests at the start. From `duration` on it rests at the end.
        """
