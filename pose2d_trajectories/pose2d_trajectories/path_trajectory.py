"""A path and a law of time make a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

from pose2d_trajectories.path import Path
from pose2d_trajectories.ramp_law import RampLaw
from pose2d_trajectories.reference import Reference


@dataclass(frozen=True)
class PathTrajectory:
    """Drives along a path; derivatives by the chain rule.

    Attributes:
        path: where.
        law: when; its p is the path's parameter.
    """

    path: Path
    law: RampLaw

    @property
    def duration(self) -> float:
        """Time until the end, s; math.inf when there is none."""
        return self.law.duration

    def at(self, t: float) -> Reference:
        """The reference at time t, s."""
        p, dp, ddp = self.law.at(t)
        x, y, theta, ds, dds, dtheta, ddtheta = self.path.at(p)
        return Reference(
            x,
            y,
            theta,
            ds * dp,
            dtheta * dp,
            dds * dp * dp + ds * ddp,
            ddtheta * dp * dp + dtheta * ddp,
        )
