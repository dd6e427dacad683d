# SPDX-License-Identifier: Apache-2.0
"""Detects wheels that contradict the torque: stuck encoders, flipped torque, swapped wheels.

EnergyBalance finds flipped and swapped torque, WheelStandstill a stuck angle, TakenCommands excuses
wheels whose driver does not take commands. Only angles and stamps are evidence, as reported speeds
may be filtered; reported effort can only excuse. Derivation and bounds: docs/theory/wheel_watch.md.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import accumulate

import numpy as np

from arc_odometry import JointSample
from arc_odometry.number_range import Array
from arc_odometry.odometry import MAX_WHEEL_SPEED, wheel_turn
from diffbot_description import Robot, RobotModel, closed_form
from diffbot_description.ground_loads import GRAVITY
from diffbot_node.command_guard import Pair

# Largest factor between true masses and those of the YAML.
SPREAD = 2.5
# Largest delay of the torque, control periods.
DELAYS = 5
# Steps of the longest window: a weak torque needs 0.5 s to show its effect.
LONGEST = 50
# Shortest window, s: a robot that pitches moves for so long without torque.
SHORTEST = 0.05
# Largest relative error of the torque due to ripple, noise or a change within a step.
TORQUE_ERROR = 0.1
SLOPE = GRAVITY * math.sin(math.radians(10.0))  # m/s^2, gravity along the steepest floor
# Smallest turn of a wheel that is judged, rad: backlash and tyres cause smaller ones.
LEAST_TURN = 0.05

# Whether a wheel's work is that of its own torque, and the works' signs.
WIRINGS = {
    "both wheels turn against their torque": (True, (-1.0, -1.0)),
    "the left wheel turns against its torque": (True, (-1.0, 1.0)),
    "the right wheel turns against its torque": (True, (1.0, -1.0)),
    "the wheels turn as if swapped": (False, (1.0, 1.0)),
    "the wheels turn as if swapped, with both signs flipped": (False, (-1.0, -1.0)),
    "the wheels turn as if swapped, with the left torque's sign flipped": (False, (1.0, -1.0)),
    "the wheels turn as if swapped, with the right torque's sign flipped": (False, (-1.0, 1.0)),
}

# Largest load on a wheel that the YAML need not describe, as a share of the torque limit.
STEADY = 0.75
# Largest ratio of true to described friction.
FRICTION_ERROR = 1.5
# Shortest time, s, and fewest steps for which a stuck angle repeats.
STUCK_TIME, STUCK_STEPS = 0.05, 2
SIDES = ("left", "right")

# Samples closer together are joined to steps of at least this length, s.
STEP = 0.008
# Longest time between samples; the torque in a longer gap is unknown, s.
LONGEST_GAP = 0.3
# Coarsest encoder that need not be described, counts per turn.
COARSE = 256
# Smaller changes of an angle are no counts, rad.
ROUNDING = 1e-6
# Relative, of a constant effort that drivers report as a mean.
EFFORT_ROUNDING = 1e-6
# Steps for which commands are stored: the largest delay of a driver that is recognised.
MEMORY = 200
# Relative, of the quick bound on the work.
ROUNDING_FRACTION = 1e-9
SIGNS_ADVICE = (
    "check the signs and the order of torque commands and encoders, left and right, "
    "and that nobody pushes the robot"
)
STUCK_ADVICE = "check the encoder's cable, and whether the wheel or the robot is blocked"
LATE_ADVICE = "check the load of the computer that it runs on"


class WheelWatch:
    """Decides from joint samples and commanded torque when the torque must stop.

    Args:
        limit: Largest torque per wheel that will be commanded, N m, > 0, finite (else ValueError);
            None: the robot's traction limit. The smaller, the sooner a standing wheel counts as
            stuck.

    Attributes:
        late: Why zero should be commanded for now: the driver does not take commands; or empty.
    """

    def __init__(self, robot: Robot, limit: float | None = None) -> None:
        limit = robot.limits.traction if limit is None else limit
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"torque limit of the wheel watch = {limit} N m: must be > 0, finite")
        model = robot.model
        self._energy = EnergyBalance(model, limit)
        self._wheels = [WheelStandstill(robot, model, side, limit) for side in (0, 1)]
        # At most, rad; lowered to the smallest change of an angle so far.
        self._count = math.tau / min(robot.encoder.counts or COARSE, COARSE)
        self._taken = TakenCommands()
        self.late = ""
        self.reset()

    def reset(self) -> None:
        """Forget the motion, as after a gap; what the effort has shown about the driver is kept."""
        self._energy.reset()
        for wheel in self._wheels:
            wheel.reset()
        self._last: JointSample | None = None
        self._begin_step()

    def _begin_step(self) -> None:
        self._period, self._turn, self._impulse = 0.0, [0.0, 0.0], [0.0, 0.0]

    def update(self, sample: JointSample, torque: Pair) -> str | None:
        """Return why the torque must stop, with numbers and what to check; None if it need not.

        `torque`, [left, right], N m, was commanded for the period that ends with the sample.
        """
        last, self._last = self._last, sample
        if last is None or sample.stamp == last.stamp:
            return None
        period = sample.stamp - last.stamp
        turn = _turn(last, sample) if 0.0 < period <= LONGEST_GAP else None
        if turn is None:
            self.reset()
            self._last = sample
            return None
        self._period += period
        for side in (0, 1):
            self._turn[side] += turn[side]
            self._impulse[side] += torque[side] * period
            if abs(turn[side]) > ROUNDING:
                self._count = min(self._count, abs(turn[side]))
        return self._judge(sample.effort) if self._period >= STEP else None

    def _judge(self, effort: Pair) -> str | None:
        period, turn = self._period, (self._turn[0], self._turn[1])
        torque = (self._impulse[0] / period, self._impulse[1] / period)
        self._begin_step()
        was_late = bool(self.late or self._taken.problem())
        self._taken.update(period, torque, effort)
        if was_late and self._taken.stood == 0.0:
            self.late = ""
            self.reset()
        contradiction = self._contradiction(period, turn, torque)
        if contradiction and (late := self._taken.problem()):
            self.late = f"{late}; {LATE_ADVICE}"
            self.reset()
            return None
        return contradiction

    def _contradiction(self, period: float, turn: Pair, torque: Pair) -> str | None:
        step = (period, turn, torque, self._count)
        for wheel in self._wheels:
            if stuck := wheel.update(*step):
                return f"{stuck}; {STUCK_ADVICE}"
        wrong = self._energy.update(*step)
        return f"{wrong}; {SIGNS_ADVICE}" if wrong else None


def _turn(last: JointSample, sample: JointSample) -> Pair | None:
    """Return the changes of the angles [left, right], rad; None if they are ambiguous."""
    limit = MAX_WHEEL_SPEED * (sample.stamp - last.stamp)
    try:
        left, right = (
            wheel_turn(side, before, after, limit)
            for side, before, after in zip(SIDES, last.position, sample.position, strict=True)
        )
    except ValueError:
        return None
    return left, right


class TakenCommands:
    """Determines from the reported effort whether the wheels' driver takes the commands.

    Attributes:
        stood: For how long the effort has not changed, s.
    """

    def __init__(self) -> None:
        self._reports_effort = False
        self._effort: Pair = (0.0, 0.0)
        self._commands: deque[Pair] = deque(maxlen=MEMORY)
        self.stood, self._standing = 0.0, 0
        self._against = [0, 0]  # steps since each wheel's command and effort differ in sign

    def update(self, period: float, torque: Pair, effort: Pair) -> None:
        if not self._reports_effort:
            self._reports_effort = any(math.isfinite(each) and each != 0.0 for each in effort)
        stands = _alike(effort, self._effort)
        self._effort = effort
        self._commands.append(torque)
        self.stood = self.stood + period if stands else 0.0
        self._standing = self._standing + 1 if stands else 0
        for side in (0, 1):
            differs = torque[side] != 0.0 and _sign(torque[side]) != _sign(effort[side])
            self._against[side] = self._against[side] + 1 if differs else 0

    def problem(self) -> str:
        """Describe, with numbers, that commands are not taken; empty if nothing shows it."""
        against = max(self._against)
        if not self._reports_effort or against <= DELAYS or self._standing < against - DELAYS:
            return ""
        if self._standing <= against and not self._repeats_old_command(against):
            return ""
        left, right = self._effort
        return (
            "the wheels' driver does not take the commands: it has reported an effort of "
            f"{left:.3g} and {right:.3g} N m for {self.stood:.3f} s, whatever is commanded"
        )

    def _repeats_old_command(self, against: int) -> bool:
        """Whether the effort repeats a command from so many steps ago or earlier.

        Not so if it may be a newer command reported with the wrong sign.
        """
        commands, turned = list(self._commands), (-self._effort[0], -self._effort[1])
        if any(_alike(turned, command) for command in commands[-against - DELAYS :]):
            return False
        return any(_alike(self._effort, command) for command in commands[:-against])


def _alike(one: Pair, other: Pair) -> bool:
    (a, b), (c, d) = one, other
    return abs(a - c) <= EFFORT_ROUNDING * abs(c) and abs(b - d) <= EFFORT_ROUNDING * abs(d)


class EnergyBalance:
    """Compares kinetic energy and work of the torque: finds flipped signs and swapped wheels.

    For every window of the last LONGEST steps E(t) - E(t0) <= W + G, within the bounds of masses,
    delay, counts and slope. Evaluated only while a wheel turns against its torque. `limit`: largest
    torque that will be commanded, N m.
    """

    def __init__(self, model: RobotModel, limit: float) -> None:
        r, b = model.wheel_radius, model.half_track
        k = closed_form(model)
        # Largest acceleration of a wheel, rad/s^2; twice the limit: friction and the other wheel.
        self._fastest = SPREAD * (k.k7 - b * k.k8) / r * 2.0 * limit
        # Maps wheel turns [left, right] in rad to distance in m and turn of the body in rad.
        self._to_body = np.array([[r, r], [-r / b, r / b]]) / 2.0
        self._inertia = np.array([model.equivalent_mass, model.equivalent_inertia])
        self._half_inertia = 0.5 * model.equivalent_mass, 0.5 * model.equivalent_inertia
        self._weight = SLOPE * np.array(
            [model.equivalent_mass, model.mass_body * abs(model.com_offset)]
        )
        self._resolution = np.array([r, r / b])
        # m and rad per rad of both wheels
        self._meters_per_count, self._heading = 0.5 * r, 0.5 * r / b
        self.reset()

    def reset(self) -> None:
        """Forget the steps; the torque before the next one counts as zero."""
        self._periods: list[float] = []
        self._turns: list[tuple[float, float]] = []
        self._torques: list[tuple[float, float]] = [(0.0, 0.0)] * DELAYS
        self._works: list[float] = []  # largest work in each step if torque acts at once, J
        # Of each step with the one before: span, s, |v|, m/s, |omega|, rad/s; largest kinetic
        # energies of both, J, and the encoder count that these allow for, rad.
        self._speeds: list[tuple[float, float, float]] = []
        self._energies: list[Pair] = []
        self._energies_count = math.inf

    def update(
        self,
        period: float,
        turn: tuple[float, float],
        torque: tuple[float, float],
        count: float,
    ) -> str | None:
        """Return which wiring explains the motion, with numbers; None if the torque may.

        Args:
            period: Duration of the step, s, > 0.
            turn: Changes of the wheels' angles, [left, right], rad.
            torque: Commanded, mean over the step, [left, right], N m.
            count: Largest angle of an encoder count, rad.
        """
        if self._leaps(period, turn, count):
            del self._periods[:], self._turns[:], self._torques[:-DELAYS], self._works[:]
            del self._speeds[:], self._energies[:]
        if self._periods:
            self._add_speeds(period, turn, count)
        self._periods.append(period)
        self._turns.append(turn)
        self._torques.append(torque)
        works = turn[0] * torque[0], turn[1] * torque[1]
        self._works.append(sum(works) + TORQUE_ERROR * (abs(works[0]) + abs(works[1])))
        if len(self._periods) > LONGEST:
            del self._periods[0], self._turns[0], self._torques[0], self._works[0]
            del self._speeds[0], self._energies[0]
        against = turn[0] * torque[0] < 0.0 or turn[1] * torque[1] < 0.0
        if len(self._periods) < 3 or not against or self._work_covers_gain(count):
            return None
        return self._judge(np.array(self._periods), np.array(self._turns), count)

    def _add_speeds(self, period: float, turn: Pair, count: float) -> None:
        before = self._turns[-1]
        left, right = turn[0] + before[0], turn[1] + before[1]
        span = period + self._periods[-1]
        v = self._meters_per_count * abs(left + right) / span
        omega = self._heading * abs(right - left) / span
        self._speeds.append((span, v, omega))
        if count != self._energies_count:
            self._energies_count = count
            self._energies = [self._energy(*speeds, count) for speeds in self._speeds]
        else:
            self._energies.append(self._energy(span, v, omega, count))

    def _energy(self, span: float, v: float, omega: float, count: float) -> Pair:
        """Return the largest kinetic energies of (v, omega), J; the smallest if `count` < 0."""
        v = max(v + count * 2.0 * self._meters_per_count / span, 0.0)
        omega = max(omega + count * 2.0 * self._heading / span, 0.0)
        return self._half_inertia[0] * v * v, self._half_inertia[1] * omega * omega

    def _work_covers_gain(self, count: float) -> bool:
        """Whether a quick bound in plain floats, without slope and delay, already shows it."""
        works = list(accumulate(self._works))
        paid = works[-2] - ROUNDING_FRACTION * max(max(works), -min(works))
        v, omega = self._energy(*self._speeds[-1], -count)
        for (most_v, most_omega), before in zip(self._energies[:-1], works, strict=False):
            gain_v, gain_omega = v - most_v, omega - most_omega
            gain = gain_v / SPREAD if gain_v > 0.0 else gain_v * SPREAD
            gain += gain_omega / SPREAD if gain_omega > 0.0 else gain_omega * SPREAD
            if gain > paid - before:
                return False
        return True

    def _leaps(self, period: float, turn: tuple[float, float], count: float) -> bool:
        if not self._periods:
            return False
        before = self._periods[-1]
        span = 0.5 * (period + before)
        most = self._fastest * span + count / period + count / before
        return any(
            abs(now / period - then / before) > most
            for now, then in zip(turn, self._turns[-1], strict=True)
        )

    def _judge(self, periods: Array, turns: Array, count: float) -> str | None:
        """Evaluate all windows; the arrays of works have shape (windows, DELAYS + 1, 2)."""
        body = turns @ self._to_body.T
        kinetic = self._kinetic(periods, body, count)
        gain = _least(kinetic - self._weight * _changes(body[1:-1]))
        own, other, noise = self._works_of(turns[1:-1], count)
        most = (own + noise).sum(axis=2).max(axis=1)
        turned = np.abs(_sums_to_end(turns[1:-1])).max(axis=1)
        span = _sums_to_end(periods[1:-1])
        telling = (turned >= LEAST_TURN) & (span >= SHORTEST)
        surplus = np.where(telling, gain - most, -np.inf)
        start = int(np.argmax(surplus))
        if not surplus[start] > 0.0:
            return None
        explained = {
            problem: float(((own if itself else other)[start] * signs).sum(axis=1).max())
            for problem, (itself, signs) in WIRINGS.items()
        }
        problem = max(explained, key=lambda name: explained[name])
        if not explained[problem] > max(float(gain[start]), 0.0):
            return None
        return (
            f"{problem}; in {span[start]:.3f} s the kinetic energy changed by "
            f"at least {gain[start]:.3g} J, but the torque's work was at most {most[start]:.3g} J"
        )

    def _kinetic(self, periods: Array, body: Array, count: float) -> Array:
        """Return the least growth of the kinetic energies of v and omega, J, shape (windows, 2)."""
        span = (periods[:-1] + periods[1:])[:, None]
        speed = np.abs(body[:-1] + body[1:]) / span
        error = count * self._resolution / span
        least = np.maximum(speed[-1] - error[-1], 0.0)
        most = speed[:-1] + error[:-1]
        grown: Array = 0.5 * self._inertia * (least**2 - most**2)
        return grown

    def _works_of(self, turns: Array, count: float) -> tuple[Array, Array, Array]:
        torques, n = np.array(self._torques)[1:-1], len(turns)
        acting = np.stack([torques[DELAYS - d : DELAYS - d + n] for d in range(DELAYS + 1)], 1)
        turns = turns[:, None]
        own = acting * turns
        noise = TORQUE_ERROR * np.abs(own)
        noise[:-1] += np.abs(acting[1:] - acting[:-1]) * 0.5 * count
        noise = _sums_to_end(noise)
        noise += (np.abs(acting) + np.abs(acting[-1])) * 0.5 * count
        return _sums_to_end(own), _sums_to_end(acting[:, :, ::-1] * turns), noise


def _least(gain: Array) -> Array:
    """Return the smallest sum of gains of (v, omega), shape (n, 2), J, for masses within SPREAD."""
    least: Array = np.minimum(gain * SPREAD, gain / SPREAD).sum(axis=1)
    return least


def _changes(body: Array) -> Array:
    """Return displacement, m, and change of the heading's unit vector to the end, shape (n, 2)."""
    heading = np.concatenate([[0.0], np.cumsum(body[:, 1])])
    middle = 0.5 * (heading[:-1] + heading[1:])
    path = _sums_to_end(body[:, :1] * np.stack([np.cos(middle), np.sin(middle)], 1))
    turn = 2.0 * np.abs(np.sin(0.5 * (heading[-1] - heading[:-1])))
    return np.stack([np.hypot(*path.T), turn], 1)


def _sums_to_end(values: Array) -> Array:
    sums: Array = np.cumsum(values[::-1], axis=0)[::-1]
    return sums


class WheelStandstill:
    """Finds an angle that repeats itself though its wheel must be turning: a stuck encoder.

    It integrates the minimum speed u' >= H a (s tau - F - C), u >= 0, since the angle last changed,
    for each delay of the torque. `side`: 0 left, 1 right; `limit`: largest torque, N m.
    """

    def __init__(self, robot: Robot, model: RobotModel, side: int, limit: float) -> None:
        k, r, b = closed_form(model), model.wheel_radius, model.half_track
        self._radius, self._half_track = r, b
        # Acceleration of the wheel by its own torque, rad/s^2 per N m; the next two relative to it.
        self._own = k.k7 / r - b * k.k8 / r
        self._cross = abs(k.k7 / r + b * k.k8 / r) / self._own
        self._coupling = abs(k.k5) / r / self._own, b * abs(k.k6) / r / self._own
        friction = robot.friction
        most = friction.coulomb[side] + friction.gear_loss[side] * limit
        self._friction = max(STEADY * limit, FRICTION_ERROR * most)
        self._side = side
        self.reset()

    def reset(self) -> None:
        self._torques = deque([0.0] * (DELAYS + 1), DELAYS + 1)
        self._begin(0.0)

    def _begin(self, speed: float) -> None:
        self._before = speed
        self._time, self._steps = 0.0, 0

    def update(
        self,
        period: float,
        turn: tuple[float, float],
        torque: tuple[float, float],
        count: float,
    ) -> str | None:
        """Return what contradicts the constant angle, with numbers; see EnergyBalance.update."""
        own, other = turn[self._side], turn[1 - self._side]
        self._torques.append(torque[self._side])
        if own != 0.0:
            self._begin(math.copysign(max(abs(own) - count, 0.0) / period, own))
            return None
        path = 0.5 * self._radius * other / period
        yaw_rate = path / self._half_track  # magnitude of the yaw rate while this wheel stands
        coupling = self._coupling[0] * yaw_rate**2 + self._coupling[1] * abs(path * yaw_rate)
        load = self._friction + self._cross * abs(torque[1 - self._side]) + coupling
        self._advance(period, load)
        least = min(map(abs, self._ways))
        if self._time < STUCK_TIME or self._steps < STUCK_STEPS or least <= count:
            return None
        return (
            f"the {SIDES[self._side]} wheel's angle has stood still for {self._time:.3f} s, but "
            f"from {self._before:.3g} rad/s and under {torque[self._side]:.3g} N m it must have "
            f"turned by at least {least:.3g} rad"
        )

    def _advance(self, period: float, load: float) -> None:
        begins = self._steps == 0
        if begins:
            self._speeds, self._ways = [self._before] * (DELAYS + 1), [0.0] * (DELAYS + 1)
        for delay, torque in enumerate(self._torques):
            speed = self._speeds[delay]
            direction = _sign(speed or torque)
            net = direction * torque - load
            acceleration = self._own * net * (1.0 / SPREAD if net > 0.0 else SPREAD)
            size = abs(speed)
            if begins:
                # The speed before is a mean over a step, and so the speed at its middle.
                size = max(size + min(acceleration, 0.0) * 0.5 * period, 0.0)
            path, after = _least_motion(size, acceleration, period)
            self._ways[delay] += direction * path
            self._speeds[delay] = direction * after
        self._time += period
        self._steps += 1


def _least_motion(speed: float, acceleration: float, period: float) -> Pair:
    """Return the minimum turn over a step, rad, and speed at its end, rad/s, from speed >= 0."""
    if speed == 0.0:
        return 0.0, max(0.5 * acceleration * period, 0.0)
    after = speed + acceleration * period
    if after <= 0.0:
        return -0.5 * speed * speed / acceleration, 0.0
    return 0.5 * (speed + after) * period, after


def _sign(value: float) -> float:
    return math.copysign(1.0, value) if value else 0.0
