"""The velocity at the control instant, from what the sensors say."""

from __future__ import annotations

import math

from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.motion import REST, State, Torque, Velocity

# Time constant, s, with which an estimate comes round from the model to the encoders.
# At 100 Hz it halves the torque's chatter with 4096 counts at rest. An acceleration that the
# model is wrong about by d biases the estimate by 11 ms times d instead of 5 ms.
MEMORY = 0.01


class VelocityEstimate:
    """Velocity now, where encoders give its mean over the last period.

    While u changes at the rate nu, its mean over a period is what it was half a period ago:
    u = u_mean + nu T / 2. A loop closed on the mean instead has half a period more delay.

    Encoders count, so the mean chatters. The model says how u has changed since the last estimate;
    of the difference between that and u_mean + nu T / 2 the estimate takes the share
    1 - e^(-T / MEMORY). Where the model is right and the encoders are exact nothing is left of
    either.

    Args:
        dynamics: of the robot.
        mean: whether the velocity of a State is that mean; else it is taken as it is.
    """

    def __init__(self, dynamics: BodyDynamics, mean: bool) -> None:
        self.dynamics = dynamics
        self._mean = mean
        self.reset()

    def reset(self) -> None:
        """Forget the past: the robot was at rest, without torque."""
        self.velocity = REST
        self._known = False
        self._commanded: Torque = (0.0, 0.0)

    def acted(self, state: State) -> Torque:
        """Torque over the period that ends now, [left, right], N m."""
        return self._commanded if state.torque is None else state.torque

    def update(self, state: State, dt: float) -> Velocity:
        """The velocity now; dt: time since the update before, s."""
        if not self._mean:
            self.velocity = state.velocity
            return self.velocity
        by_torque = self.dynamics.input_acceleration(self.acted(state))
        # f at the mean velocity is the mean of f but for the square of the change.
        drift = self.dynamics.drift(state.velocity)
        share = -math.expm1(-dt / MEMORY) if self._known else 1.0
        self._known = True
        before = self.velocity
        self.velocity = Velocity(
            _blend(before.v, state.velocity.v, by_torque.v + drift.v, share, dt),
            _blend(before.omega, state.velocity.omega, by_torque.omega + drift.omega, share, dt),
        )
        return self.velocity

    def command(self, torque: Torque) -> None:
        """Remember the torque of the period that begins, N m."""
        self._commanded = torque


def _blend(before: float, mean: float, rate: float, share: float, dt: float) -> float:
    """A velocity from the one before and its mean since, while it changed at a rate."""
    foretold, measured = before + dt * rate, mean + 0.5 * dt * rate
    return foretold + share * (measured - foretold)
