"""A trajectory put elsewhere, turned, or driven backwards."""

from __future__ import annotations

import math

from pose2d_trajectories.checks import finite
from pose2d_trajectories.reference import Reference, Trajectory


class Placed:
    """A trajectory in its own frame, as seen from the odom frame.

    Args:
        trajectory: driven forwards, in its own frame.
        x: origin of its frame, m.
        y: origin of its frame, m.
        theta: direction of its frame's x axis, rad.
        backwards: the same points at the same times, the robot facing the other way (theta + pi,
            v < 0), as with k = 1 in (8) of Siwek et al. (2023).
    """

    def __init__(
        self,
        trajectory: Trajectory,
        x: float = 0.0,
        y: float = 0.0,
        theta: float = 0.0,
        backwards: bool = False,
    ) -> None:
        self._trajectory = trajectory
        self._x, self._y = finite("x", x, "m"), finite("y", y, "m")
        turn = finite("theta", theta, "rad")
        self._cos, self._sin = math.cos(turn), math.sin(turn)
        self._sign = -1.0 if backwards else 1.0
        self._turn = turn + math.pi if backwards else turn

    @property
    def duration(self) -> float:
        """Time until the end, s; math.inf when there is none."""
        return self._trajectory.duration

    def at(self, t: float) -> Reference:
        """The reference at time t, s.

        Raises:
            ValueError: t is not a number, or infinite.
        """
        inner = self._trajectory.at(finite("t", t, "s"))
        return Reference(
            self._x + self._cos * inner.x - self._sin * inner.y,
            self._y + self._sin * inner.x + self._cos * inner.y,
            inner.theta + self._turn,
            self._sign * inner.v,
            inner.omega,
            self._sign * inner.dv,
            inner.domega,
        )
