# SPDX-License-Identifier: Apache-2.0
"""The polar pose law with underlying velocity loops, Lages (2017), (73)-(83)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import REST, Pose, Velocity
from diffbot_controllers.laws.drivetrain import DrivetrainLaw
from diffbot_controllers.laws.feedback_linearization import LinearizingController, LinearizingRecord
from diffbot_controllers.laws.gradual_set_points import GradualSetPoints
from diffbot_controllers.laws.motion import State, check_period
from diffbot_controllers.laws.polar_approach import (
    Approach,
    ApproachGains,
    PolarError,
    moving_offset,
    to_goal,
)
from diffbot_description import Torque
from pose2d_trajectories import Reference
from pose2d_trajectories.reference import check_reference


@dataclass(frozen=True)
class PolarPoseRecord:
    """All variables of one update; poses in m, m, rad.

    Attributes:
        reference: x_r.
        offset: x_bar of (74); its heading is wrapped to +-pi.
        polar: e, psi, alpha of (75)-(77), for the present driving direction.
        direction: +1 forwards, -1 backwards.
        velocity_reference: u_r of (82), (83) within the limits, m/s and rad/s.
        loops: Variables of the velocity loops.
    """

    reference: Pose
    pose: Pose
    offset: Pose
    polar: PolarError
    direction: int
    velocity_reference: Velocity
    loops: LinearizingRecord


class PolarPoseController(DrivetrainLaw):
    """Drives the robot to a pose with the velocities (82), (83) and PI velocity loops.

    Args:
        loops: At least five times as fast as gamma1 and gamma2, because (73) neglects them.
        direction: In which the robot arrives: "backwards", as published, "forwards" or "either".
        set_points: Limits of the velocity references of the loops; None: as published.
    """

    def __init__(
        self,
        loops: LinearizingController,
        gains: ApproachGains = ApproachGains(),  # noqa: B008  (frozen)
        direction: str = "either",
        set_points: GradualSetPoints | None = None,
    ) -> None:
        self._set_points = set_points
        self.loops = loops
        self.drivetrain = loops.drivetrain
        self._approach = Approach(gains, direction)
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self.loops.reset()
        self._approach.reset()
        if self._set_points is not None:
            self._set_points.reset()
        self.record: PolarPoseRecord | None = None

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Return the torque [left, right], N m, for the next period, dt s after the last update.

        Only the pose of the reference is used; a moving one is followed with a lag of v / gamma1. A
        number that is not finite, or dt <= 0, is a ValueError.
        """
        check_reference(reference)
        check_period(dt)
        goal = self.drivetrain.reference(reference, dt).pose
        motion = self.drivetrain.motion(state, dt)
        x, y, theta = moving_offset(motion.pose, state.velocity, goal, REST)
        linear, angular = self._approach.velocity(x, y, theta, state.velocity.v)
        wanted = Velocity(linear.value, angular.value)
        if self._set_points is not None:
            wanted = self._set_points.limited(wanted, motion.velocity, dt)
        ahead, turn = to_goal(motion.pose, goal, self._approach.gains.near)
        rests = self.drivetrain.rests(ahead, turn, motion)
        at_goal = math.isfinite(ahead)
        loops = self.loops.driven(state, motion, wanted, dt, rests, at_goal)
        self.record = PolarPoseRecord(
            reference=goal,
            pose=state.pose,
            offset=Pose(x.value, y.value, math.remainder(theta.value, math.tau)),
            polar=self._approach.error,
            direction=self._approach.direction,
            velocity_reference=wanted,
            loops=loops,
        )
        return loops.torque
