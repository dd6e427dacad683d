# SPDX-License-Identifier: Apache-2.0
"""The present velocity from encoders, torque and model, without an observer.

Derivation: docs/theory/observer.md#without-an-observer.
"""

from __future__ import annotations

import math

from arc_odometry import REST, Velocity
from diffbot_controllers.laws.motion import NO_TORQUE, ObservedMotion, State
from diffbot_description import DynamicParameters

# Time constant, s, with which the encoders correct an estimate by the model.
TIME_CONSTANT = 0.01


class VelocityEstimate:
    """Estimates the present velocity from its mean over the last period, without an observer.

    `mean`: whether a State's velocity is that mean; if not, it is used as it is.
    """

    def __init__(self, dynamics: DynamicParameters, mean: bool) -> None:
        self.dynamics = dynamics
        self._mean = mean
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use."""
        return self._dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._dynamics = dynamics.checked()

    def reset(self) -> None:
        """Forget the past: the robot was at rest, without torque."""
        self.velocity = REST
        self._known = False

    def update(self, state: State, dt: float) -> Velocity:
        """Return the present velocity, dt s after the last one; a torque of None counts as none."""
        if not self._mean:
            self.velocity = state.velocity
            return self.velocity
        by_torque = self.dynamics.input_acceleration(state.torque or NO_TORQUE)
        # f at the mean velocity is the mean of f up to the square of the change.
        drift = self.dynamics.drift(state.velocity)
        fraction = -math.expm1(-dt / TIME_CONSTANT) if self._known else 1.0
        self._known = True
        before = self.velocity
        self.velocity = Velocity(
            _blend(before.v, state.velocity.v, by_torque.v + drift.v, fraction, dt),
            _blend(before.omega, state.velocity.omega, by_torque.omega + drift.omega, fraction, dt),
        )
        return self.velocity

    def motion(self, state: State, dt: float) -> ObservedMotion:
        """Return the state's pose with the estimated velocity."""
        return ObservedMotion(state.pose, self.update(state, dt))


def _blend(before: float, mean: float, rate: float, fraction: float, dt: float) -> float:
    predicted, measured = before + dt * rate, mean + 0.5 * dt * rate
    return predicted + fraction * (measured - predicted)
