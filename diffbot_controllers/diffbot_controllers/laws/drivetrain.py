# SPDX-License-Identifier: Apache-2.0
"""Between a law and the wheels: the motion from a State, the torque from an acceleration.

Every torque law has one. Without KnownWheels it is what the papers have: VelocityEstimate and
G^-1 (u' - f). With them the motion is the observer's, one torque delay ahead where there is one,
the torque holds friction, and, with `integral`, what the model has not explained; and it rises no
faster than they say. `limit_torque` keeps it within its limit.
"""

from __future__ import annotations

import math
from dataclasses import replace

from arc_odometry import REST, Velocity
from arc_odometry.geometry import check_finite, within
from diffbot_controllers.laws.first_reading import FirstReading
from diffbot_controllers.laws.friction import FrictionFeedforward, KnownWheels, Laws, Standstill
from diffbot_controllers.laws.motion import (
    NO_TORQUE,
    MotionObserver,
    ObservedMotion,
    State,
    VelocityEstimate,
)
from diffbot_description import DynamicParameters, Torque
from pose2d_trajectories import Reference

# Share of what friction holds that a torque which turns round at the goal has at the least.
TURN_ROUND = 0.5


class Drivetrain:
    """See the module.

    Args:
        dynamics: K5..K8.
        mean: whether State.velocity is the mean over the last period (encoders); else it is
            taken as it is, and there is no observer and no prediction.
        wheels: None: nothing is known of them.
        integral: whether accelerations that the observer cannot explain are made up for.
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
        self._bias = REST
        self._acted = self._commanded = NO_TORQUE
        self._ways = NO_TORQUE  # the last torque of each wheel that was not 0

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use; they may be replaced between two updates."""
        return self._estimate.dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._estimate.dynamics = dynamics

    @property
    def friction(self) -> Laws | None:
        """Friction of the wheels in use; it may be replaced, too. None: it is not known."""
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
        """Forget the past: the robot was at rest, without torque."""
        self._estimate.reset()
        self._predictor.reset()
        self._bias = REST
        self._acted = self._commanded = NO_TORQUE
        self._ways = NO_TORQUE
        if self._feedforward is not None and self._standstill is not None:
            self._feedforward.reset()
            self._standstill.reset()

    def first_reading(self) -> FirstReading | None:
        """What puts right an odometry that begins; None: of this robot it cannot be known."""
        estimate = self._estimate
        if not isinstance(estimate, MotionObserver) or not estimate.wheels.counts:
            return None
        return FirstReading(estimate.dynamics, estimate.wheels)

    def reference(self, reference: Reference, dt: float) -> Reference:
        """The reference for the time of `motion`.

        Args:
            reference: for now.
            dt: time since the update before, s.
        """
        estimate = self._estimate
        delay = estimate.wheels.delay if isinstance(estimate, MotionObserver) else 0.0
        return self._predictor.at(reference, delay, dt)

    def motion(self, state: State, dt: float) -> ObservedMotion:
        """When the torque that is commanded now will act.

        Args:
            state: of the robot now.
            dt: time since the update before, s.
        """
        self._acted = self.acted(state)
        if state.torque is None:
            state = replace(state, torque=self._acted)
        now = self._estimate.motion(state, dt)
        self._bias = now.bias if self._integral else REST
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
        """Torque that gives an acceleration, not limited yet, [left, right], N m.

        Where a law's bounds keep it from braking as it would, friction is not made up for in full:
        friction that is described too large would drive the robot against a law at its bounds.

        Args:
            u: velocity as of `motion`.
            wanted: velocity that the law wants.
            acceleration: that it asks for, m/s^2 and rad/s^2.
            drift: f over the period, m/s^2 and rad/s^2.
            dt: control period, s.
            unbounded: acceleration before the law's bounds; None: it has none.
        """
        bias = self._bias
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
        """The torque no further from the one before than `rise` of the wheels allows, N m.

        A torque that jumps goes through the gears as a shock and says nothing that the robot could
        follow: in 60 ms it hardly moves.

        Args:
            torque: within the limit, [left, right], N m.
            limit: of a wheel, N m; infinite: torque is as it is.
            dt: control period, s.
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
        """The torque, but none of a wheel that turns round with less than TURN_ROUND of friction.

        For a robot at its goal. Its friction brakes it there: what the wheels still need is about
        0, or a wheel is to stand, and the encoders' rounding decides on the sign. A gearbox goes
        through its play with each change of it.

        Args:
            torque: of a law, [left, right], N m.
        """
        if self._feedforward is None:
            return torque
        left, right = (
            0.0 if wanted * way < 0.0 and abs(wanted) < TURN_ROUND * law.breakaway(-way) else wanted
            for wanted, way, law in zip(torque, self._ways, self._feedforward.laws, strict=True)
        )
        return left, right

    def rests(self, ahead: float, turn: float, motion: ObservedMotion) -> bool:
        """Whether the robot may rest where it is, held by its friction, without torque.

        Args:
            ahead: way to the goal along the robot's axis, m.
            turn: to the goal's heading, rad.
            motion: of the robot.
        """
        if self._feedforward is None or self._standstill is None:
            return False
        friction = self._feedforward.at_least(motion.velocity)
        stop = Velocity(self.dynamics.k7 * friction, -self.dynamics.k8 * friction)
        return self._standstill.update(ahead, turn, motion.velocity, stop)

    def acted(self, state: State) -> Torque:
        """Torque commanded over the period that ends now, [left, right], N m."""
        return self._commanded if state.torque is None else state.torque

    def command(self, torque: Torque) -> None:
        """Remember the torque of the period that begins, N m."""
        self._commanded = torque
        left, right = (wanted or before for wanted, before in zip(torque, self._ways, strict=True))
        self._ways = left, right


def limit_torque(torque: Torque, limit: float) -> Torque:
    """Torques [left, right] within +-limit, N m; steering first.

    The difference of the torques turns the robot, their sum drives it. A robot that turns as asked
    but drives too slowly stays on its way; one that drives as asked but turns too slowly leaves
    it. So the difference gets what it needs, and the sum what the difference leaves.

    Raises:
        ValueError: a torque is not finite, the work of numbers beyond any robot. Clipping would
            make full torque of it.
    """
    left, right = torque
    check_finite("torque is beyond floating point", left=left, right=right)
    steering = within(0.5 * (right - left), limit)
    room = limit - abs(steering)
    drive = within(0.5 * (left + right), room)
    # Rounding must not carry a torque beyond its limit.
    left, right = drive - steering, drive + steering
    return within(left, limit), within(right, limit)


class DrivetrainLaw:
    """A law that has a drivetrain: what is known of the robot may be replaced between updates.

    Attributes:
        drivetrain: between the law and the wheels.
    """

    drivetrain: Drivetrain

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use."""
        return self.drivetrain.dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self.drivetrain.dynamics = dynamics

    @property
    def friction(self) -> Laws | None:
        """Friction of the wheels in use; None: it is not known."""
        return self.drivetrain.friction

    @friction.setter
    def friction(self, laws: Laws) -> None:
        self.drivetrain.friction = laws


class ReferencePredictor:
    """The reference when the torque that is commanded now will act.

    Its accelerations go on changing as they did over the last two periods, where these agree in
    their sign: by the smaller rate. Constant accelerations would make the robot lag in a curve that
    becomes tighter.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._before: Velocity | None = None
        self._jerk = REST

    def at(self, reference: Reference, delay: float, dt: float) -> Reference:
        """The reference a delay later.

        Args:
            reference: for now.
            delay: s; 0: the reference as it is.
            dt: time since the update before, s.
        """
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
    """The total torque, of which friction's part gives way to what the bounds left out, N m."""
    friction, missing = total - torque, asked - torque
    if friction * missing >= 0.0:
        return total
    return torque + math.copysign(max(abs(friction) - abs(missing), 0.0), friction)


def _smaller(a: float, b: float) -> float:
    """The smaller of two numbers of one sign; else 0."""
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b
