# SPDX-License-Identifier: Apache-2.0
"""Whether the wheels contradict the torque: stuck encoders, flipped torque, swapped wheels.

Two tests, each with its equations: EnergyBalance finds flipped and swapped torque, as the wheels
gain energy against it; WheelStandstill finds an angle that repeats itself while its wheel must be
turning. Both hold for every robot whose masses, radii, friction, torque delay and floor are within
stated bounds of its YAML: what such a robot can do is never blamed.

Only angles and stamps are blamed: reported speeds may be filtered, or missing. Impossible jumps
of an angle are refused by JointOdometry; here the watch begins anew. Reported effort may only
excuse the wheels, where it shows that their driver does not take the commands: TakenCommands.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample
from arc_odometry.joints import MAX_WHEEL_SPEED, wheel_turn
from diffbot_description import Robot, RobotModel, closed_form
from diffbot_node.command_guard import Pair

Array = NDArray[np.float64]

# Masses in a YAML are guesses off by up to 2; a payload doubles them, a radius 30 % off too.
SPREAD = 2.5
# Torque acts up to 5 control periods late.
DELAYS = 5
# Steps of the longest window, 0.5 s at 100 Hz: a weak torque needs time to tell.
LONGEST = 50
# Shortest window, s: a robot that nods, or lifts a wheel, moves its angles for that long by itself.
SHORTEST = 0.05
# Share of the torque that may be ripple, noise or a change within a step.
TORQUE_ERROR = 0.1
SLOPE = 9.81 * math.sin(math.radians(10.0))  # m/s^2, gravity along the steepest floor
# Less than this says nothing about signs: backlash and the give of tyres, rad.
LEAST_TURN = 0.05

# Signs of the works on [left, right], by the own torque (True) or the other wheel's.
WIRINGS = {
    "both wheels turn against their torque": (True, (-1.0, -1.0)),
    "the left wheel turns against its torque": (True, (-1.0, 1.0)),
    "the right wheel turns against its torque": (True, (1.0, -1.0)),
    "the wheels turn as if swapped": (False, (1.0, 1.0)),
    "the wheels turn as if swapped, with both signs flipped": (False, (-1.0, -1.0)),
    "the wheels turn as if swapped, with the left torque's sign flipped": (False, (1.0, -1.0)),
    "the wheels turn as if swapped, with the right torque's sign flipped": (False, (-1.0, 1.0)),
}

# What may hold a wheel though the YAML does not tell, as a share of the torque limit: friction of
# half of it, and a slope.
HELD = 0.75
# Friction that the YAML does tell may be this many times more.
FRICTION_ERROR = 1.5
# Drivers may repeat an angle while they wait for their encoder: at 20 Hz for 0.05 s.
STUCK_TIME, STUCK_STEPS = 0.05, 2
SIDES = ("left", "right")

# Samples nearer to each other are joined, s: 100 Hz with jitter is left as it is, 1 kHz is not.
STEP = 0.008
# After a longer time nothing is known of the torque in between, s.
LONGEST_GAP = 0.3
# Counts per turn of the coarsest encoder that need not be told.
COARSE = 256
# Smaller changes of an angle are rounding, not counts, rad.
ROUNDING = 1e-6
# Drivers tell a torque that stands as a mean, with rounding; share of it.
EFFORT_ROUNDING = 1e-6
# Steps for which commands are remembered: how late a driver may be.
MEMORY = 200
# Share of the work that a bound leaves for rounding.
ROUNDING_SHARE = 1e-9
SIGNS_ADVICE = (
    "check the signs and the order of torque commands and encoders, left and right, "
    "and that nobody pushes the robot"
)
STUCK_ADVICE = "check the encoder's cable, and whether the wheel or the robot is blocked"
LATE_ADVICE = "see the load of the computer that it runs on"


class WheelWatch:
    """Tells from joint samples and commanded torque when torque has to stop.

    Args:
        robot: its wheels, masses, friction, limits and encoder.
        limit: largest torque per wheel that will be commanded, N m, > 0; None for the robot's
            traction limit. Three quarters of it may hold a wheel (friction, a slope): the less, the
            sooner a wheel that stands is called stuck.

    Attributes:
        late: why the motion says nothing at present, and zero should be commanded: the driver does
            not take commands; empty while it does.

    Raises:
        ValueError: limit is not finite and > 0.
    """

    def __init__(self, robot: Robot, limit: float | None = None) -> None:
        limit = robot.limits.traction if limit is None else limit
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"torque limit of the wheel watch = {limit} N m: must be > 0, finite")
        model = robot.model
        self._energy = EnergyBalance(model, limit)
        self._wheels = [WheelStandstill(robot, model, side, limit) for side in (0, 1)]
        # Found as the least change of an angle that was ever seen.
        self._count = math.tau / min(robot.encoder.counts or COARSE, COARSE)
        self._taken = TakenCommands()
        self.late = ""
        self.reset()

    def reset(self) -> None:
        """Begin anew: after a gap, a reset of time, or when torque is enabled again.

        What the effort has told of the driver stays true.
        """
        self._energy.reset()
        for wheel in self._wheels:
            wheel.reset()
        self._last: JointSample | None = None
        self._begin_step()

    def _begin_step(self) -> None:
        self._period, self._turn, self._impulse = 0.0, [0.0, 0.0], [0.0, 0.0]

    def update(self, sample: JointSample, torque: Pair) -> str | None:
        """Take in a joint sample.

        Args:
            sample: its stamp and its angles count, and its effort, N m, as an excuse.
            torque: commanded for the period that ends with the sample, [left, right], N m.

        Returns:
            Why torque has to stop, with numbers and what to check; None otherwise.
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
        """End a step, and ask both tests and the excuse."""
        period, turn = self._period, (self._turn[0], self._turn[1])
        torque = (self._impulse[0] / period, self._impulse[1] / period)
        self._begin_step()
        was_late = bool(self.late or self._taken.problem())
        self._taken.update(period, torque, effort)
        if was_late and self._taken.stood == 0.0:
            # It takes commands again; which acted meanwhile is not what was commanded.
            self.late = ""
            self.reset()
        contradiction = self._contradiction(period, turn, torque)
        if contradiction and (late := self._taken.problem()):
            self.late = f"{late}; {LATE_ADVICE}"
            self.reset()
            return None
        return contradiction

    def _contradiction(self, period: float, turn: Pair, torque: Pair) -> str | None:
        """What a step, with those before it, says against the torque that was commanded."""
        step = (period, turn, torque, self._count)
        for wheel in self._wheels:
            if stuck := wheel.update(*step):
                return f"{stuck}; {STUCK_ADVICE}"
        wrong = self._energy.update(*step)
        return f"{wrong}; {SIGNS_ADVICE}" if wrong else None


def _turn(last: JointSample, sample: JointSample) -> Pair | None:
    """Changes of the angles [left, right], rad; None where they cannot be told."""
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
    """Tells by the effort in the joint states whether the wheels' driver takes the commands.

    The loop of a controller manager has the priority of real time, and the thread that takes
    commands has not: on a computer that is too busy the loop goes on with an old torque, for longer
    than DELAYS steps. The effort then stands, from before the command of a wheel changed its sign
    on; or from within DELAYS steps of that, at a torque that was commanded before. Where only the
    sign of the effort is wrong, it changes soon after the command, and is what was commanded last,
    turned round; where drivers tell no effort it is always zero. Neither is an excuse.

    Attributes:
        stood: for how long the effort has not changed, s.
    """

    def __init__(self) -> None:
        self._told = False
        self._effort: Pair = (0.0, 0.0)
        self._commands: deque[Pair] = deque(maxlen=MEMORY)
        self.stood, self._standing = 0.0, 0
        self._against = [0, 0]  # steps, of each wheel, in which its command had another sign

    def update(self, period: float, torque: Pair, effort: Pair) -> None:
        """Take in a step.

        Args:
            period: its duration, s, > 0.
            torque: commanded, mean over the step, [left, right], N m.
            effort: as told at its end, [left, right], N m.
        """
        self._told = self._told or any(math.isfinite(told) and told != 0.0 for told in effort)
        stands = _alike(effort, self._effort)
        self._effort = effort
        self._commands.append(torque)
        self.stood = self.stood + period if stands else 0.0
        self._standing = self._standing + 1 if stands else 0
        for side in (0, 1):
            differs = torque[side] != 0.0 and _sign(torque[side]) != _sign(effort[side])
            self._against[side] = self._against[side] + 1 if differs else 0

    def problem(self) -> str:
        """That commands are not taken, with numbers; empty where nothing shows it."""
        against = max(self._against)
        if not self._told or against <= DELAYS or self._standing < against - DELAYS:
            return ""
        if self._standing <= against and not self._is_of_before(against):
            return ""
        left, right = self._effort
        return (
            f"the wheels' driver does not take the commands: it tells an effort of {left:.3g} and "
            f"{right:.3g} N m for {self.stood:.3f} s now, whatever is commanded"
        )

    def _is_of_before(self, against: int) -> bool:
        """Whether the effort is what was commanded so many steps ago or earlier, and told right."""
        commands, turned = list(self._commands), (-self._effort[0], -self._effort[1])
        if any(_alike(turned, command) for command in commands[-against - DELAYS :]):
            return False
        return any(_alike(self._effort, command) for command in commands[:-against])


def _alike(one: Pair, other: Pair) -> bool:
    """Whether two pairs of torques are the same but for rounding."""
    return all(abs(a - b) <= EFFORT_ROUNDING * abs(b) for a, b in zip(one, other, strict=True))


class EnergyBalance:
    """Compares kinetic energy and work of the torque: finds flipped signs and swapped wheels.

    A robot is passive. Between two instants its kinetic energy rises by the torque's work at most,
    as friction of any kind only takes energy, plus what a slope gives:

        E(t) - E(t0) <= W + G
        E = M_e v^2 / 2 + I_e omega^2 / 2      W = sum of tau . (change of the wheels' angles)
        G = |way| M_e g sin a + |change of the heading's unit vector| m_b d g sin a

    M_e and I_e are what the YAML says, times unknown a_v and a_w in [1 / SPREAD, SPREAD]; the
    torque acts 0 to DELAYS steps late. With X_v = M_e (v^2 - v0^2) / 2 - G_v, X_w alike, the
    statistic is

        S = min over a_v, a_w of (a_v X_v + a_w X_w) - max over delays of (W + N)

    where v is the least and v0 the most that encoder counts allow, and N bounds what these (half a
    count on each angle) and wrong torque (TORQUE_ERROR of it) can make of W. S > 0 over any window
    from SHORTEST to LONGEST: no robot does so under this torque. The torque is blamed when, with
    signs flipped or sides swapped, its work would have paid for the gain; a bump fits none. A wheel
    that changes its speed faster than any torque could has left the ground: windows begin anew. It
    is looked at while a wheel turns against its torque. Friction can do what a wrong torque does as
    long as that brakes, so nothing is said before it speeds a wheel up.

    Args:
        model: of the robot, as its YAML describes it.
        limit: largest torque that will be commanded, N m.
    """

    def __init__(self, model: RobotModel, limit: float) -> None:
        r, b = model.wheel_radius, model.half_track
        k = closed_form(model)
        # The second limit is for friction and the other wheel.
        self._fastest = SPREAD * (k.k7 - b * k.k8) / r * 2.0 * limit
        # From turns [left, right] in rad to way in m and turn of the body in rad.
        self._to_body = np.array([[r, r], [-r / b, r / b]]) / 2.0
        self._inertia = np.array([model.equivalent_mass, model.equivalent_inertia])
        self._half_inertia = 0.5 * model.equivalent_mass, 0.5 * model.equivalent_inertia
        self._weight = SLOPE * np.array(
            [model.equivalent_mass, model.mass_body * abs(model.com_offset)]
        )
        self._resolution = np.array([r, r / b])
        self._way, self._heading = 0.5 * r, 0.5 * r / b  # per rad of both wheels
        self.reset()

    def reset(self) -> None:
        """Forget the steps. The torque before the next one counts as zero."""
        self._periods: list[float] = []
        self._turns: list[tuple[float, float]] = []
        self._torques: list[tuple[float, float]] = [(0.0, 0.0)] * DELAYS
        self._works: list[float] = []  # of each step at most, if its torque acts at once, J
        # Of each step with the one before: its span, s, and the sizes of v, m/s, and omega, rad/s;
        # and the kinetic energies that these are at most, J, with encoders of this count, rad.
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
        """Take in a step.

        Args:
            period: its duration, s, > 0.
            turn: changes of the wheels' angles, [left, right], rad.
            torque: commanded, mean over the step, [left, right], N m.
            count: angle of an encoder's count at most, rad.

        Returns:
            Which wiring explains the motion, with numbers; None where the commanded torque may.
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
        if len(self._periods) < 3 or not against or self._is_paid_for(count):
            return None
        return self._judge(np.array(self._periods), np.array(self._turns), count)

    def _add_speeds(self, period: float, turn: Pair, count: float) -> None:
        """Note the speeds over a new step and the one before, which is still the last one."""
        before = self._turns[-1]
        left, right = turn[0] + before[0], turn[1] + before[1]
        span = period + self._periods[-1]
        v = self._way * abs(left + right) / span
        omega = self._heading * abs(right - left) / span
        self._speeds.append((span, v, omega))
        if count != self._energies_count:
            self._energies_count = count
            self._energies = [self._energy(*speeds, count) for speeds in self._speeds]
        else:
            self._energies.append(self._energy(span, v, omega, count))

    def _energy(self, span: float, v: float, omega: float, count: float) -> Pair:
        """Kinetic energies of (v, omega) at most, J; at least, where the count is negative."""
        v = max(v + count * 2.0 * self._way / span, 0.0)
        omega = max(omega + count * 2.0 * self._heading / span, 0.0)
        return self._half_inertia[0] * v * v, self._half_inertia[1] * omega * omega

    def _is_paid_for(self, count: float) -> bool:
        """Whether a bound that needs little leaves no window open; it mostly does.

        No slope, and the torque acts at once. In plain floats, as this is asked before a command
        goes out, and NumPy takes several times as long for so few numbers.
        """
        works = list(accumulate(self._works))
        paid = works[-2] - ROUNDING_SHARE * max(max(works), -min(works))
        v, omega = self._energy(*self._speeds[-1], -count)
        for (most_v, most_omega), before in zip(self._energies[:-1], works, strict=False):
            gain_v, gain_omega = v - most_v, omega - most_omega
            gain = gain_v / SPREAD if gain_v > 0.0 else gain_v * SPREAD
            gain += gain_omega / SPREAD if gain_omega > 0.0 else gain_omega * SPREAD
            if gain > paid - before:
                return False
        return True

    def _leaps(self, period: float, turn: tuple[float, float], count: float) -> bool:
        """Whether a wheel changes its speed faster than it could with ground under it."""
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
        """Look at all windows that end before the last step and begin after the first or later.

        Works have shape (windows, DELAYS + 1, 2): by the wheels' own torques, and the other's.
        """
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
            f"{gain[start]:.3g} J at least, and the torque's work was {most[start]:.3g} J at most"
        )

    def _kinetic(self, periods: Array, body: Array, count: float) -> Array:
        """By how much (v^2, omega^2) have grown in each window at least, in J, shape (n, 2)."""
        span = (periods[:-1] + periods[1:])[:, None]
        speed = np.abs(body[:-1] + body[1:]) / span
        error = count * self._resolution / span
        least = np.maximum(speed[-1] - error[-1], 0.0)
        most = speed[:-1] + error[:-1]
        grown: Array = 0.5 * self._inertia * (least**2 - most**2)
        return grown

    def _works_of(self, turns: Array, count: float) -> tuple[Array, Array, Array]:
        """Works by the wheels' own and by each other's torques, and what may be wrong with them."""
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
    """The least that gains of (v, omega), shape (n, 2), J, are for masses within SPREAD."""
    least: Array = np.minimum(gain * SPREAD, gain / SPREAD).sum(axis=1)
    return least


def _changes(body: Array) -> Array:
    """How far a path leads from the beginning of each step on, and how much it turns on the whole.

    Args:
        body: way in m and turn in rad of n steps, shape (n, 2).

    Returns:
        Distance in m and change of the heading's unit vector, shape (n, 2).
    """
    heading = np.concatenate([[0.0], np.cumsum(body[:, 1])])
    middle = 0.5 * (heading[:-1] + heading[1:])
    way = _sums_to_end(body[:, :1] * np.stack([np.cos(middle), np.sin(middle)], 1))
    turn = 2.0 * np.abs(np.sin(0.5 * (heading[-1] - heading[:-1])))
    return np.stack([np.hypot(*way.T), turn], 1)


def _sums_to_end(values: Array) -> Array:
    """Sums along the first axis, from each entry on to the last."""
    sums: Array = np.cumsum(values[::-1], axis=0)[::-1]
    return sums


class WheelStandstill:
    """Finds an angle that repeats itself though its wheel must be turning: a stuck encoder.

    What is followed is the least way that the wheel must have turned since its angle changed last.
    With its speed u along s, the sign of its last motion (of its torque, where it stands), and H =
    1 / (M_e r^2) + b^2 / (I_e r^2), its acceleration by its own torque,

        u' >= H a (s tau - F - C),   u >= 0,   a = 1 / SPREAD where the bracket is > 0, else SPREAD

    once for each delay of the torque, 0 to DELAYS steps. F = HELD x the torque limit bounds
    friction and a slope that nobody has told; C is what the other wheel's torque and the coupling
    f(u) of (41), Lages (2017), can do. The angle is stuck when the integral of s u exceeds a count
    with each delay, and it has repeated itself exactly for STUCK_TIME and STUCK_STEPS at least. A
    wheel that is blocked, or a robot that pushes a wall with more torque than F, looks the same; to
    stop is right then too.

    Args:
        robot: its friction.
        model: of the robot, as its YAML describes it.
        side: 0 for the left wheel, 1 for the right one.
        limit: largest torque that will be commanded, N m.
    """

    def __init__(self, robot: Robot, model: RobotModel, side: int, limit: float) -> None:
        k, r, b = closed_form(model), model.wheel_radius, model.half_track
        self._radius, self._half_track = r, b
        # Accelerations of the wheel by its own torque and by the other's, rad/s^2 per N m.
        self._own = k.k7 / r - b * k.k8 / r
        self._cross = abs(k.k7 / r + b * k.k8 / r) / self._own
        self._coupling = abs(k.k5) / r / self._own, b * abs(k.k6) / r / self._own
        self._friction = max(HELD * limit, FRICTION_ERROR * robot.friction.coulomb[side])
        self._side = side
        self.reset()

    def reset(self) -> None:
        """Forget the motion. The torque before the next step counts as zero."""
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
        """Take in a step; see EnergyBalance.update for the arguments.

        Returns:
            What contradicts the angle that stands, with numbers; None where nothing does.
        """
        own, other = turn[self._side], turn[1 - self._side]
        self._torques.append(torque[self._side])
        if own != 0.0:
            self._begin(math.copysign(max(abs(own) - count, 0.0) / period, own))
            return None
        way = 0.5 * self._radius * other / period
        bend = way / self._half_track  # the size of the yaw rate: this wheel stands
        coupling = self._coupling[0] * bend**2 + self._coupling[1] * abs(way * bend)
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
        """Follow the least speeds over a step in which the angle has stood still."""
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
                # The speed before is a mean over a step, that in its middle.
                size = max(size + min(acceleration, 0.0) * 0.5 * period, 0.0)
            way, after = _least_motion(size, acceleration, period)
            self._ways[delay] += direction * way
            self._speeds[delay] = direction * after
        self._time += period
        self._steps += 1


def _least_motion(speed: float, acceleration: float, period: float) -> Pair:
    """The least way over a step, rad, and speed at its end, rad/s, from a speed >= 0 on.

    Who seems to stand at the beginning may come from the other side: with half of the change of
    speed, the wrong way round, it is back at its angle when the step ends. A torque that turns
    round with each step shakes a wheel so.
    """
    if speed == 0.0:
        return 0.0, max(0.5 * acceleration * period, 0.0)
    after = speed + acceleration * period
    if after <= 0.0:
        return -0.5 * speed * speed / acceleration, 0.0
    return 0.5 * (speed + after) * period, after


def _sign(value: float) -> float:
    """-1, 0 or 1."""
    return math.copysign(1.0, value) if value else 0.0
