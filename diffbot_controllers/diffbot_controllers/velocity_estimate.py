"""The velocity at the control instant, from what the sensors say."""

from __future__ import annotations

from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.motion import REST, State, Torque, Velocity


class VelocityEstimate:
    """Velocity now, where encoders give its mean over the last period.

    While u changes at the rate nu, its mean over a period is what it was half a period ago:
    u = u_mean + nu T / 2. A loop closed on the mean instead has half a period more delay.

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
        self.velocity = Velocity(
            state.velocity.v + 0.5 * dt * (by_torque.v + drift.v),
            state.velocity.omega + 0.5 * dt * (by_torque.omega + drift.omega),
        )
        return self.velocity

    def command(self, torque: Torque) -> None:
        """Remember the torque of the period that begins, N m."""
        self._commanded = torque
