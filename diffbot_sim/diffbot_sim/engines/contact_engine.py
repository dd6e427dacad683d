# SPDX-License-Identifier: Apache-2.0
"""What the engines with contact physics share: inner steps, drag, and a payload."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from arc_odometry import Velocity
from diffbot_description import DynamicParameters, Robot, closed_form
from diffbot_description.robot import Pair
from diffbot_sim.engines.caster_drag import CasterDrag
from diffbot_sim.simulator import NO_PUSH, check_duration, check_torque


class ContactEngine(ABC):
    """Advances by inner steps of at most `inner_step`, s; `name` of the physics is for messages."""

    _drag: CasterDrag
    _theta: float
    time: float

    def __init__(self, name: str, robot: Robot, inner_step: float) -> None:
        self._name, self._robot = name, robot
        self._longest = self._inner_step = inner_step
        self._bare = robot.model
        self._payload = (0.0, 0.0, 0.0, 0.0)

    def step(self, torque: Pair, duration: float, push: Pair = NO_PUSH) -> None:
        """See Simulator.step; the inner step divides duration evenly."""
        torque, push, duration = check_torque(torque), check_torque(push), check_duration(duration)
        total = torque[0] + push[0], torque[1] + push[1]
        count = max(1, math.ceil(duration / self._longest - 1e-9))
        self._set_inner_step(duration / count)
        if self._drag.exists:
            for _ in range(count):
                u = Velocity(*self._velocity(self._yaw()))
                self._do_steps(1, torque, push, self._drag.wrench(u, total, self._inner_step))
        else:
            self._do_steps(count, torque, push)
        if self._is_lost():
            raise FloatingPointError(
                f"{self._name} lost the motion at torque {torque} N m, t = {self.time:.3f} s; "
                "lower the torque"
            )
        self._theta += math.remainder(self._yaw() - self._theta, math.tau)
        self.time += duration

    def velocity(self) -> Pair:
        """See Simulator.velocity; v lies along the heading, omega about the vertical."""
        return self._velocity(self._theta)

    def parameters(self) -> DynamicParameters:
        mass, x, _, yaw_inertia = self._payload
        return closed_form(self._bare.with_payload(mass, x, yaw_inertia))

    def _set_inner_step(self, inner_step: float) -> None:
        self._inner_step = inner_step

    @abstractmethod
    def _do_steps(self, count: int, torque: Pair, push: Pair, drag: Pair = (0.0, 0.0)) -> None:
        """Do inner steps with the torques of Simulator.step and a drag; see CasterDrag.wrench."""

    @abstractmethod
    def _is_lost(self) -> bool:
        """Whether the physics has exceeded its numerical range."""

    @abstractmethod
    def _yaw(self) -> float:
        """Return the body's yaw, rad, within +-pi."""

    @abstractmethod
    def _velocity(self, heading: float) -> Pair:
        """Return the speed along a heading (rad), m/s, and the yaw rate, rad/s."""
