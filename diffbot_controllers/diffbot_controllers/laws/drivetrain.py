# SPDX-License-Identifier: Apache-2.0
"""The layer between a control law and the wheels: state estimation and torque computation.

Without KnownWheels as in the papers: VelocityEstimate and G^-1 (u' - f). With them MotionObserver,
compensation of friction and, with `integral`, of accelerations that the model does not explain.
Reasons: docs/theory/friction_feedforward.md, docs/theory/observer.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

from arc_odometry import REST, Velocity
from arc_odometry.number_range import check_finite, within
from diffbot_controllers.laws.count_offsets import FirstReading
from diffbot_controllers.laws.friction import FrictionFeedforward, KnownWheels, Laws, Standstill
from diffbot_controllers.laws.motion import NO_TORQUE, ObservedMotion, State
from diffbot_controllers.laws.motion_observer import MotionObserver, VelocityEstimate
from diffbot_description import DynamicParameters, Torque
from pose2d_trajectories import Reference

# Smallest reversing torque at the goal, as a share of the wheel's breakaway torque.
TURN_ROUND = 0.5
# Largest push at rest, such as a slope's, that counts as an error of the described friction, as a
# share of the breakaway torque.
STUCK = 0.7


class Drivetrain:
    """Computes motion and torque for a law.

    `mean`: State.velocity is the mean over the last period (encoders); if not, it is used as it is,
    without observer and prediction. `integral`: accelerations that the model cannot explain are
    compensated.
    """

    def __init__(
        self,
        dynamics: DynamicParameters,
        mean: bool,
        wheels: KnownWheels | None = None,
        integral: bool = True,
    ) -> None:
        self._feedforward = None if wheels is None else FrictionFeedforward(wheels)
        self._standstill = None if wheels is None else Standstill(wheels)
        self._integral = integral and (wheels is None or wheels.integral)
        self._rise = 0.0 if wheels is None else wheels.rise
        self._estimate: VelocityEstimate | MotionObserver = (
            MotionObserver(dynamics, wheels)
            if mean and wheels is not None and wheels.observer
            else VelocityEstimate(dynamics, mean)
        )
        self._predictor = ReferencePredictor()
        self._push = REST  # acceleration that the model cannot explain
        self._acted = self._commanded = NO_TORQUE
        self._last_nonzero = NO_TORQUE  # last torque of each wheel that was not 0

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use; they may be replaced between two updates."""
        return self._estimate.dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._estimate.dynamics = dynamics

    @property
    def friction(self) -> Laws | None:
        """Friction of the wheels in use; it may be replaced too. None: unknown."""
        return None if self._feedforward is None else self._feedforward.laws

    @friction.setter
    def friction(self, laws: Laws) -> None:
        if self._feedforward is None or self._standstill is None:
            raise ValueError("friction: the law was made without wheels; make it with them")
        self._feedforward.check(laws)
        self._feedforward.laws = laws
        self._standstill.laws = laws
        if isinstance(self._estimate, MotionObserver):
            self._estimate.friction = laws

    def reset(self) -> None:
        self._estimate.reset()
        self._predictor.reset()
        self._push = REST
        self._acted = self._commanded = NO_TORQUE
        self._last_nonzero = NO_TORQUE
        if self._feedforward is not None and self._standstill is not None:
            self._feedforward.reset()
            self._standstill.reset()

    def first_reading(self) -> FirstReading | None:
        """Return a correction of the odometry's start; None if this robot does not allow one."""
        estimate = self._estimate
        if not isinstance(estimate, MotionObserver) or not estimate.wheels.counts:
            return None
        return FirstReading(estimate.dynamics, estimate.wheels)

    def reference(self, reference: Reference, dt: float) -> Reference:
        """Return the reference, given for now, for the time of `motion`."""
        estimate = self._estimate
        delay = estimate.wheels.delay if isinstance(estimate, MotionObserver) else 0.0
        return self._predictor.at(reference, delay, dt)

    def motion(self, state: State, dt: float) -> ObservedMotion:
        """Return the motion when the torque commanded now will act; dt: since the last one, s."""
        self._acted = self.acted(state)
        if state.torque is None:
            state = replace(state, torque=self._acted)
        now = self._estimate.motion(state, dt)
        self._push = now.bias
        if isinstance(self._estimate, MotionObserver) and self._estimate.wheels.delay > 0.0:
            return self._estimate.predicted(now)
        return now

    def torque(
        self,
        u: Velocity,
        wanted: Velocity,
        acceleration: Velocity,
        drift: Velocity,
        dt: float,
        unbounded: Velocity | None = None,
    ) -> Torque:
        """Return the torque for an acceleration, not limited yet, [left, right], N m.

        Args:
            u: Velocity from `motion`; `wanted`: the law's.
            acceleration: Commanded by the law, m/s^2 and rad/s^2.
            drift: f over the period, m/s^2 and rad/s^2.
            dt: Control period, s.
            unbounded: Acceleration before the law's limits; None: the law has none.
        """
        bias = self._push if self._integral else REST
        drift = Velocity(drift.v + bias.v, drift.omega + bias.omega)
        torque = self.dynamics.torque(acceleration, drift)
        if self._feedforward is None:
            return torque
        total = self._feedforward.add(torque, u, wanted, acceleration, dt)
        if unbounded is None or unbounded == acceleration:
            return total
        asked = self.dynamics.torque(unbounded, drift)
        left, right = (_yielding(*of_wheel) for of_wheel in zip(torque, total, asked, strict=True))
        return left, right

    def slew_limited(self, torque: Torque, limit: float, dt: float) -> Torque:
        """Limit the change of a torque, N m, to that of `rise` of the wheels; none if infinite.

        Steps of the torque shock the gears in vain: within 60 ms the robot hardly moves.
        """
        if self._rise <= 0.0 or math.isinf(limit):
            return torque
        step = limit * dt / self._rise
        left, right = (
            before + within(wanted - before, step)
            for wanted, before in zip(torque, self._acted, strict=True)
        )
        return within(left, limit), within(right, limit)

    def turned_round(self, torque: Torque) -> Torque:
        """Set small torques that reverse to 0, for a robot at its goal, [left, right], N m.

        There the encoders' rounding would decide the sign, and drive gears through their backlash.
        """
        if self._feedforward is None:
            return torque
        left, right = (
            0.0
            if wanted * direction < 0.0 and abs(wanted) < TURN_ROUND * law.starting(-direction)
            else wanted
            for wanted, direction, law in zip(
                torque, self._last_nonzero, self._feedforward.laws, strict=True
            )
        )
        return left, right

    def resting_torque(self) -> Torque:
        """Return the torque of a robot that rests, [left, right], N m.

        Zero where friction holds it; otherwise it balances the push that friction does not hold.
        """
        if self._feedforward is None:
            return NO_TORQUE
        torque = self.dynamics.torque(REST, self._push)
        stuck = (
            abs(wanted) <= STUCK * law.breakaway(-wanted)
            for wanted, law in zip(torque, self._feedforward.laws, strict=True)
        )
        return NO_TORQUE if all(stuck) else torque

    def rests(self, ahead: float, turn: float, motion: ObservedMotion) -> bool:
        """Whether the robot may rest here, `ahead` m and `turn` rad from its goal."""
        if self._feedforward is None or self._standstill is None:
            return False
        friction = self._feedforward.at_least(motion.velocity)
        stop = Velocity(self.dynamics.k7 * friction, -self.dynamics.k8 * friction)
        return self._standstill.update(ahead, turn, motion.velocity, stop)

    def acted(self, state: State) -> Torque:
        return self._commanded if state.torque is None else state.torque

    def command(self, torque: Torque) -> None:
        self._commanded = torque
        left, right = (
            wanted or before for wanted, before in zip(torque, self._last_nonzero, strict=True)
        )
        self._last_nonzero = left, right


def limit_torque(torque: Torque, limit: float) -> Torque:
    """Limit the torques [left, right] to +-limit, N m; steering has priority.

    Raises:
        ValueError: One is not finite: clipping it would command full torque.
    """
    left, right = torque
    check_finite("torque is beyond floating point", left=left, right=right)
    steering = within(0.5 * (right - left), limit)
    room = limit - abs(steering)
    drive = within(0.5 * (left + right), room)
    # Rounding must not move a torque beyond its limit.
    left, right = drive - steering, drive + steering
    return within(left, limit), within(right, limit)


class DrivetrainLaw:
    """A law with a drivetrain; the robot's parameters may be replaced between updates."""

    drivetrain: Drivetrain

    @property
    def dynamics(self) -> DynamicParameters:
        return self.drivetrain.dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self.drivetrain.dynamics = dynamics

    @property
    def friction(self) -> Laws | None:
        """Friction of the wheels in use; None: unknown."""
        return self.drivetrain.friction

    @friction.setter
    def friction(self, laws: Laws) -> None:
        self.drivetrain.friction = laws


class ReferencePredictor:
    """Predicts the reference at the time when the torque commanded now will act."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._before: Velocity | None = None
        self._jerk = REST

    def at(self, reference: Reference, delay: float, dt: float) -> Reference:
        """Return the reference `delay` s later; dt is the time since the previous update, s."""
        if delay <= 0.0:
            return reference
        now, before, last = reference.acceleration, self._before, self._jerk
        self._before = now
        self._jerk = REST
        if before is not None:
            self._jerk = Velocity((now.v - before.v) / dt, (now.omega - before.omega) / dt)
        dv, domega = (_smaller(a, b) * delay for a, b in zip(self._jerk, last, strict=True))
        end = reference.after(delay)
        return replace(
            end,
            theta=end.theta + domega * delay * delay / 6.0,
            v=end.v + 0.5 * dv * delay,
            omega=end.omega + 0.5 * domega * delay,
            dv=end.dv + dv,
            domega=end.domega + domega,
        )


def _yielding(torque: float, total: float, asked: float) -> float:
    friction, missing = total - torque, asked - torque
    if friction * missing >= 0.0:
        return total
    return torque + math.copysign(max(abs(friction) - abs(missing), 0.0), friction)


def _smaller(a: float, b: float) -> float:
    """Return the number of smaller magnitude if both have the same sign, else 0."""
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b
