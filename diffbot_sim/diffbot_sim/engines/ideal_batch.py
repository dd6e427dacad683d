# SPDX-License-Identifier: Apache-2.0
"""The ideal engine for many robots at once: IdealSimulator with a robot axis, in NumPy.

It uses the equations, series of the speeds and choice of holding wheels of engines/ideal.py on
arrays whose last axis is the robots'. A step is one series for all of them; robots of which a wheel
stops, starts or reverses within it continue in ever smaller groups, piece by piece. The results
differ from IdealSimulator by rounding: test_robot_batches.py requires 1e-9 after 10 s.

Friction is viscous and Coulomb friction, the latter per direction, and losses of gears. Static
friction with the Stribeck effect and dragging casters are supported only by the engine for one
robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray

from arc_odometry.odometry import Array
from diffbot_description import DynamicParameters, FrictionLaw, Robot, closed_form, wheel_friction
from diffbot_sim.engines.caster_drag import CasterDrag
from diffbot_sim.engines.ideal import end_of_margin
from diffbot_sim.engines.motion_series import MOST_PIECES, ORDER
from diffbot_sim.engines.wheel_friction import HOLDING, ROUNDING
from diffbot_sim.simulator import check_duration, check_payload

Modes = NDArray[np.int8]
Index = NDArray[np.intp]
Where = slice | Index

# Largest last term of a series, relative to the speed and its first-order change in the step.
TRUNCATION = 1e-13
# Lowest order of a series; from it on the last term is compared with TRUNCATION.
FIRST = 5
# Largest number of Newton steps to a root; each doubles the number of correct digits.
NEWTON = 20
# Gauss-Legendre nodes on [0, 1], with weights, for the displacement in a step. Four nodes have a
# relative error of 6e-10 turn^8, 1e-13 up to a turn of SHARP rad; six of 2e-16 turn^12. A step that
# turns by more than SHARPEST is divided.
SHARP, SHARPEST = 0.35, 1.2
NODES = [
    [(0.5 * (node + 1.0), 0.5 * weight) for node, weight in zip(*leggauss(count), strict=True)]
    for count in (4, 6)
]


class IdealBatch:
    """Closed-form models of n robots with friction of their wheels.

    Args:
        robots: The robots; n of them, > 0.

    Attributes:
        time: Time since the reset, the same for all, s.
        parameters: K5 to K8 of each, including the payload, arrays of shape (n,).
        v, omega: Body velocities, m/s and rad/s, shape (n,).
        x, y, theta: Poses, m and rad, shape (n,).
        angles: Wheel angles [left, right], rad, shape (2, n).

    Raises:
        ValueError: There is no robot, or one has static friction, dragging casters or skid steer.
    """

    def __init__(self, robots: Sequence[Robot]) -> None:
        if not robots:
            raise ValueError("a block of 0 robots: give at least one")
        self._robots = list(robots)
        n = len(robots)
        self._radius = np.array([robot.model.wheel_radius for robot in robots])
        self._half_track = np.array([robot.model.half_track for robot in robots])
        self._k = np.empty((4, n))
        self._viscous, self._coulomb = np.empty((2, n)), np.empty((2, 2, n))
        self._gear_loss = np.array([robot.friction.gear_loss for robot in robots]).T
        self._geared = bool(self._gear_loss.any())
        for index in range(n):
            self._load(index, 0.0, 0.0, 0.0)
        self.reset()

    def __len__(self) -> int:
        return len(self._robots)

    @property
    def parameters(self) -> DynamicParameters:
        """See the class; typed as for one robot, whose methods also work with arrays."""
        return DynamicParameters(*self._k)

    def reset(self, poses: ArrayLike | None = None) -> None:
        """Put the robots at rest.

        Args:
            poses: Rows x, y, theta, m and rad, shape (3, n); None: all 0.

        Raises:
            ValueError: The poses' shape is wrong, or one is not finite.
        """
        n = len(self)
        start = np.zeros((3, n)) if poses is None else np.array(poses, dtype=float)
        if start.shape != (3, n) or not np.isfinite(start).all():
            raise ValueError(
                f"poses of shape {start.shape}: must be finite and of shape (3, {n}): x, y, theta"
            )
        self.x, self.y, self.theta = start
        self.time = 0.0
        self.v, self.omega = np.zeros(n), np.zeros(n)
        self.angles = np.zeros((2, n))
        # A wheel without Coulomb friction never holds; its direction has no effect.
        self._modes = np.where(self._holds, HOLDING, 1).astype(np.int8)

    def set_payload(self, index: int, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        """Put a payload on one robot; see Simulator.set_payload.

        Args:
            index: Index of the robot, from 0.
            mass: Mass, kg.
            x: Position of its centre of mass ahead of the axle, m.
            z: Height of its centre of mass above the axle, m; without effect here.
            yaw_inertia: Yaw inertia about its own centre of mass, kg m^2.
        """
        check_payload(mass, x, z, yaw_inertia)
        self._load(index, mass, x, yaw_inertia)

    def wheel_velocities(self) -> Array:
        """Return wheel speeds [left, right], rad/s, shape (2, n); exactly 0 for holding wheels."""
        turn = self._half_track * self.omega
        speeds = np.stack((self.v - turn, self.v + turn)) / self._radius
        return np.where(self._modes == HOLDING, 0.0, speeds)

    def step(self, torque: Array, duration: float) -> None:
        """Advance all robots under constant torques.

        Args:
            torque: Wheel torques [left, right], N m, shape (2, n).
            duration: Duration of the step, s, > 0.

        Raises:
            ValueError: A torque is not finite, or the duration is outside its range.
            FloatingPointError: A robot needs more pieces of motion than any real one.
        """
        check_duration(duration)
        if torque.shape != (2, len(self)) or not np.isfinite(torque).all():
            raise ValueError(
                f"torques of shape {torque.shape}: must be finite and of shape (2, {len(self)})"
            )
        self._choose_modes(np.arange(len(self)), torque)
        remaining = np.full(len(self), float(duration))
        group: Index | None = None
        for _ in range(MOST_PIECES):
            if group is None:
                left = self._piece(slice(None), torque, remaining)
            else:
                left = self._piece(group, torque[:, group], remaining[group])
            chosen = np.flatnonzero(left > 0.0)
            if not len(chosen):
                self.time += duration
                return
            group = chosen if group is None else np.asarray(group[chosen])
            remaining[group] = left[chosen]
        raise FloatingPointError(
            f"a step of {duration} s needs more than {MOST_PIECES} pieces for "
            f"{[self._robots[i].name for i in chosen[:3]]}; use a shorter step or less torque"
        )

    def _load(self, index: int, mass: float, x: float, yaw_inertia: float) -> None:
        robot = self._robots[index]
        parameters = closed_form(robot.model.with_payload(mass, x, yaw_inertia))
        laws = wheel_friction(robot, mass, x)
        drags = CasterDrag(robot, parameters, mass, x).exists
        if drags or any(law.static is not None for law in laws):
            raise ValueError(
                f"robot {robot.name!r}: "
                f"{'casters that drag, or skid steer' if drags else 'static friction'} in a block; "
                'simulate it alone: make_simulator("ideal", robot)'
            )
        self._k[:, index] = parameters
        for side, law in enumerate(laws):
            self._set_friction(side, index, law)
        self._holds = (self._coulomb.max(axis=1) > 0.0) | (self._gear_loss > 0.0)
        self._plain = bool((self._coulomb[:, 0] == self._coulomb[:, 1]).all())

    def _set_friction(self, side: int, index: int, law: FrictionLaw[float]) -> None:
        self._viscous[side, index] = law.viscous
        self._coulomb[side, :, index] = law.sliding(1.0), law.sliding(-1.0)

    def _sliding(self, where: Where, modes: Modes | Array) -> Array:
        """Return the Coulomb friction of wheels by their direction, N m."""
        coulomb = self._coulomb[:, :, where]
        if self._plain:
            return coulomb[:, 0]
        return np.where(modes > 0, coulomb[:, 0], coulomb[:, 1])

    def _lost(self, where: Where, torque: Array) -> Array | float:
        """Return the torques that the gears lose, N m, shape (2, n); see FrictionLaw.lost."""
        return self._gear_loss[:, where] * np.abs(torque) if self._geared else 0.0

    def _piece(self, where: Where, torque: Array, remaining: Array) -> Array:
        """Advance some robots to their next event, or to the end; return the time left, s."""
        modes = self._modes[:, where]
        rows, holding = self._equations(where, torque, modes)
        series = _Series(self.v[where], self.omega[where], rows, float(remaining.max()))
        end = np.minimum(remaining, series.span)
        wheel, push = self._events(where, torque, modes, series, holding, end)
        self._advance(where, modes, series, end)
        left = remaining - end
        left[remaining - end <= 0.0] = 0.0
        changed = np.flatnonzero(wheel >= 0)
        if len(changed):
            index = changed if isinstance(where, slice) else where[changed]
            self._change_modes(index, wheel[changed], push[changed], torque[:, changed])
        return left

    def _equations(
        self, where: Where, torque: Array, modes: Modes
    ) -> tuple[Array, dict[int, Array]]:
        """Return rows of v' and omega', (2, 5, n), and of single wheels' holding torque, (5, n)."""
        k5, k6, k7, k8 = self._k[:, where]
        radius, b = self._radius[where], self._half_track[where]
        viscous = self._viscous[:, where] / radius
        n = len(k5)
        constant = torque - (self._sliding(where, modes) + self._lost(where, torque)) * modes
        along, across = -viscous.sum(axis=0), b * (viscous[0] - viscous[1])
        rows = np.zeros((2, 5, n))
        rows[0, 0], rows[1, 1] = k5, k6
        # Coefficients of T_left + T_right and T_left - T_right in v, omega and 1.
        rows[0, 2], rows[0, 3] = k7 * along, k7 * across
        rows[0, 4] = k7 * (constant[0] + constant[1])
        rows[1, 2] = k8 * (viscous[1] - viscous[0])
        rows[1, 3] = k8 * b * (viscous[0] + viscous[1])
        rows[1, 4] = k8 * (constant[0] - constant[1])
        holding: dict[int, Array] = {}
        stuck = modes == HOLDING
        if not stuck.any():
            return rows, holding
        both = stuck[0] & stuck[1]
        rows[:, :, both] = 0.0
        for side, sign in ((0, -1.0), (1, 1.0)):
            alone = stuck[side] & ~both
            if not alone.any():
                continue
            # The wheel's acceleration without its holding torque, and per N m of it.
            by = np.array((k7, -sign * k8))
            acceleration = (rows[0] + sign * b * rows[1]) / radius
            hold = -acceleration / ((by[0] + sign * b * by[1]) / radius)
            hold[:, ~alone] = 0.0
            rows += by[:, None, :] * hold
            holding[side] = hold
        return rows, holding

    def _events(
        self,
        where: Where,
        torque: Array,
        modes: Modes,
        series: _Series,
        holding: dict[int, Array],
        end: Array,
    ) -> tuple[Index, Array]:
        """Find the first wheel that stops or is released up to `end`, which becomes its time.

        Returns:
            The wheels, -1 for none, and the sign of the friction that held each, 0 for a stop;
            shape (n,) both.
        """
        wheel = np.full(len(end), -1)
        push = np.zeros(len(end))
        radius, b = self._radius[where], self._half_track[where]
        turn = b * series.omega[0]
        speeds = np.abs(np.stack((series.v[0] - turn, series.v[0] + turn)))
        near = speeds <= series.change[0] + b * series.change[1]
        if not near.any() and not holding:
            return wheel, push
        turning = near & (modes != HOLDING) & self._holds[:, where]
        lost = np.broadcast_to(self._lost(where, torque), torque.shape)
        for side, sign in ((0, -1.0), (1, 1.0)):
            slow = np.flatnonzero(turning[side])
            if len(slow):
                mode = modes[side, slow].astype(float)
                margins, sizes = series.of_wheels(slow, mode, sign * b[slow], radius[slow])
                times = _ends_of_margins(margins, sizes, end[slow])
                stops = np.isfinite(times)
                end[slow[stops]], wheel[slow[stops]] = times[stops], side
            for i in np.flatnonzero(holding[side].any(axis=0)) if side in holding else ():
                friction, scale = series.combined(i, holding[side][:, i].tolist())
                forward, backward = (self._coulomb[side][:, where] + lost[side])[:, i].tolist()
                scale[0] += max(forward, backward)
                for direction, limit in ((1.0, backward), (-1.0, forward)):
                    margin: list[float] = [-direction * term for term in friction]
                    margin[0] += limit
                    time = end_of_margin(margin, scale, float(end[i]))
                    if time is not None:
                        end[i], wheel[i], push[i] = time, side, direction
        return wheel, push

    def _advance(self, where: Where, modes: Modes, series: _Series, end: Array) -> None:
        """Move states along their series."""
        # Most steps end at the same time for all, and scalars are faster than arrays.
        same = bool((end == end[0]).all())
        v, omega, path, turn, x, y = series.at(end[0] if same else end, self.theta[where])
        self.x[where] += x
        self.y[where] += y
        self.theta[where] += turn
        sense = self._half_track[where] * turn
        turns = np.stack((path - sense, path + sense)) / self._radius[where]
        stuck = modes == HOLDING
        some = bool(stuck.any())
        if some:
            turns[stuck] = 0.0
        self.angles[:, where] += turns
        self.v[where], self.omega[where] = v, omega
        if some:
            self._rest(np.arange(len(self))[where])

    def _rest(self, index: Index) -> None:
        """Set the speeds of wheels at rest to exactly 0; the other wheel keeps its speed."""
        left, right = self._modes[:, index] == HOLDING
        v, b = self.v[index], self._half_track[index]
        turn = b * self.omega[index]
        by_left, by_right = 0.5 * (v + turn), 0.5 * (v - turn)
        both, only_left, only_right = left & right, left & ~right, right & ~left
        self.v[index] = np.select([both, only_left, only_right], [0.0 * v, by_left, by_right], v)
        self.omega[index] = np.select(
            [both, only_left, only_right], [0.0 * v, by_left / b, -by_right / b], self.omega[index]
        )

    def _change_modes(self, index: Index, wheel: Index, push: Array, torque: Array) -> None:
        """Stop turning wheels, and release those whose holding friction reached its limit."""
        stuck = self._modes[wheel, index] == HOLDING
        self._modes[wheel, index] = np.where(stuck, -np.sign(push), HOLDING).astype(np.int8)
        stopped = index[~stuck]
        self._rest(stopped)
        self._choose_modes(stopped, torque[:, ~stuck])

    def _choose_modes(self, index: Index, torque: Array) -> None:
        """Decide which wheels at rest hold or start to turn; see WheelFriction.choose_modes."""
        waiting = (self._modes[:, index] == HOLDING).any(axis=0)
        index, torque = index[waiting], torque[:, waiting]
        if not len(index):
            return
        before = self._modes[:, index]
        chosen = before.copy()
        undecided = np.ones(len(index), dtype=bool)
        basis = np.stack(
            (
                self.omega[index] ** 2,
                self.v[index] * self.omega[index],
                self.v[index],
                self.omega[index],
                np.ones(len(index)),
            )
        )
        for candidate in product((HOLDING, 1, -1), repeat=2):
            modes = np.where(before == HOLDING, np.array(candidate)[:, None], before)
            fits = undecided & (modes == np.array(candidate)[:, None]).all(axis=0)
            if not fits.any():
                continue
            fits &= self._is_consistent(index, torque, modes.astype(np.int8), before, basis)
            chosen[:, fits] = modes[:, fits]
            undecided &= ~fits
        self._modes[:, index] = chosen

    def _is_consistent(
        self, index: Index, torque: Array, modes: Modes, before: Modes, basis: Array
    ) -> NDArray[np.bool_]:
        rows, holding = self._equations(index, torque, modes)
        a, alpha = (rows * basis).sum(axis=1)
        radius, b = self._radius[index], self._half_track[index]
        stuck = modes == HOLDING
        both = stuck[0] & stuck[1]
        needed = np.zeros_like(torque)
        for side, hold in holding.items():
            needed[side] = (hold * basis).sum(axis=0)
        # Both wheels hold: friction takes all of the torque and, as the robot rests, nothing else.
        needed[:, both] = -torque[:, both]
        # Backward friction keeps a wheel from turning forward.
        limits = np.where(needed > 0.0, self._coulomb[:, 1, index], self._coulomb[:, 0, index])
        limits = limits + self._lost(index, torque)
        consistent = np.ones(len(index), dtype=bool)
        for side, sign in ((0, -1.0), (1, 1.0)):
            acceleration = (a + sign * b * alpha) / radius
            good = np.where(
                stuck[side],
                np.abs(needed[side]) <= limits[side] * (1.0 + ROUNDING),
                modes[side] * acceleration > 0.0,
            )
            consistent &= good | (before[side] != HOLDING)
        return consistent


class _Series:
    """Taylor coefficients of the speeds of n robots, up to the highest order that any one needs.

    Args:
        v, omega: States, m/s and rad/s, shape (n,).
        rows: Rows of v' and omega', as in motion_series, shape (2, 5, n).
        horizon: Time for which the series should be valid, s.

    Attributes:
        v, omega: Coefficients, ascending.
        change: Largest changes of v and omega within the horizon.
        span: Time for which the series are valid, s: the horizon, or less.
    """

    def __init__(self, v: Array, omega: Array, rows: Array, horizon: float) -> None:
        (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4) = rows
        stuck = bool(a1.any() or b0.any())
        self.v, self.omega = [v], [omega]
        self.centripetal: list[Array] = []
        self.coriolis: list[Array] = []
        self.change = [np.zeros_like(v), np.zeros_like(v)]
        self.span = horizon
        power, scratch = 1.0, np.empty_like(v)
        for k in range(ORDER):
            ww = _squared(self.omega, k, scratch)
            vw = _convolved(self.v, self.omega, k, scratch)
            self.centripetal.append(ww)
            self.coriolis.append(vw)
            rate_v = a0 * ww + a2 * self.v[k] + a3 * self.omega[k]
            rate_w = b1 * vw + b2 * self.v[k] + b3 * self.omega[k]
            if stuck:
                rate_v += a1 * vw
                rate_w += b0 * ww
            if k == 0:
                rate_v += a4
                rate_w += b4
            rate_v /= k + 1
            rate_w /= k + 1
            self.v.append(rate_v)
            self.omega.append(rate_w)
            power *= horizon
            last = [np.abs(rate_v) * power, np.abs(rate_w) * power]
            for total, term in zip(self.change, last, strict=True):
                total += term
            if k == 0:
                scales = [np.abs(v) + last[0], np.abs(omega) + last[1]]
            if k + 1 >= FIRST and all(
                bool((term <= TRUNCATION * scale).all())
                for term, scale in zip(last, scales, strict=True)
            ):
                break
        else:
            worst = max(
                float((term / np.maximum(scale, 1e-300)).max())
                for term, scale in zip(last, scales, strict=True)
            )
            self.span = 0.5 * horizon * min(1.0, (TRUNCATION / worst) ** (1.0 / ORDER))
        turn = float((np.abs(omega) + self.change[1]).max()) * horizon
        self._nodes = NODES[0 if turn < SHARP else 1]
        self.span = min(self.span, horizon * SHARPEST / max(turn, SHARPEST))

    def at(
        self, time: Array | float, heading: Array
    ) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return v, omega, path, turn, x and y after a time, the last four relative to the start.

        Args:
            time: Time, s, shape (n,), or one number.
            heading: Heading at the start, rad, shape (n,).
        """
        v, path = _value_and_integral(self.v, time)
        omega, turn = _value_and_integral(self.omega, time)
        x, y = np.zeros_like(v), np.zeros_like(v)
        for node, weight in self._nodes:
            at = node * time
            speed = self.v[-1] * at
            angle = self.omega[-1] * (at / len(self.omega))
            for k in range(len(self.v) - 2, 0, -1):
                speed += self.v[k]
                speed *= at
                angle += self.omega[k] / (k + 1)
                angle *= at
            speed += self.v[0]
            angle += self.omega[0]
            angle *= at
            angle += heading
            speed *= weight
            x += speed * np.cos(angle)
            y += speed * np.sin(angle)
        return v, omega, path, turn, x * time, y * time

    def of_wheels(
        self, where: Index, mode: Array, lever: Array, radius: Array
    ) -> tuple[Array, Array]:
        """Return series of wheel speeds times modes, shape (terms, m), and sizes as in `combined`.

        Args:
            where: Indices of m robots.
            mode: Direction of the wheel of each.
            lever: Rim speed of the wheel per yaw rate, m.
            radius: Radius of the wheel, m.
        """
        order = len(self.centripetal)
        v = np.stack([term[where] for term in self.v[:order]]) / radius
        turn = np.stack([term[where] for term in self.omega[:order]]) * (lever / radius)
        return mode * (v + turn), np.abs(v) + np.abs(turn)

    def combined(self, i: int | np.intp, row: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return the series of a quantity of robot i, and the sums of absolute values.

        See MotionSeries.combine and MotionSeries.magnitude.
        """
        order = len(self.centripetal)
        terms = np.array(
            [
                [each[i] for each in series[:order]]
                for series in (self.centripetal, self.coriolis, self.v, self.omega)
            ]
        )
        parts = np.array(row[:4])[:, None] * terms
        values, sizes = parts.sum(axis=0).tolist(), np.abs(parts).sum(axis=0).tolist()
        values[0] += row[4]
        sizes[0] += abs(row[4])
        return values, sizes


def _convolved(first: list[Array], second: list[Array], k: int, scratch: Array) -> Array:
    """Return coefficient k of the product of two series."""
    total = first[0] * second[k]
    for j in range(1, k + 1):
        total += np.multiply(first[j], second[k - j], out=scratch)
    return total


def _squared(series: list[Array], k: int, scratch: Array) -> Array:
    """Return coefficient k of the square of a series."""
    if k == 0:
        return series[0] * series[0]
    total = series[0] * series[k]
    for j in range(1, (k + 1) // 2):
        total += np.multiply(series[j], series[k - j], out=scratch)
    total *= 2.0
    if k % 2 == 0:
        total += np.multiply(series[k // 2], series[k // 2], out=scratch)
    return total


def _value_and_integral(series: list[Array], time: Array | float) -> tuple[Array, Array]:
    """Return the value of a series at a time, and its integral up to then."""
    value = series[-1] * time
    integral = value / len(series)
    for k in range(len(series) - 2, 0, -1):
        value += series[k]
        integral += series[k] / (k + 1)
        value *= time
        integral *= time
    value += series[0]
    integral += series[0]
    return value, integral * time


def _ends_of_margins(margins: Array, sizes: Array, end: Array) -> Array:
    """Return the times of end_of_margin for m series, shape (terms, m); infinite for None.

    Monotone series are solved together, by Newton's method; the few others, one by one.
    """
    times = np.full(len(end), np.inf)
    present = np.abs(margins[:2]) > ROUNDING * sizes[:2]
    rest = present[0] | present[1]
    times[rest & (np.where(present[0], margins[0], margins[1]) < 0.0)] = 0.0
    # A wheel that has just been released has a root at 0, which does not count.
    begun = np.append(margins[1:], np.zeros((1, len(end))), axis=0)
    series = np.where(present[0], margins, begun)
    powers = end ** np.arange(len(series))[:, None]
    counts = np.arange(2, len(series))[:, None]
    terms = np.abs(series) * powers
    reaches = terms[1:].sum(axis=0) >= terms[0]
    monotone = (counts * terms[2:]).sum(axis=0) < terms[1]
    open_ = ~np.isfinite(times)
    chosen = np.flatnonzero(rest & open_ & reaches & monotone)
    chosen = chosen[(series[:, chosen] * powers[:, chosen]).sum(axis=0) <= 0.0]
    if len(chosen):
        times[chosen] = _newton(series[:, chosen], end[chosen])
    for i in np.flatnonzero(open_ & (~rest | (reaches & ~monotone))):
        time = end_of_margin(margins[:, i].tolist(), sizes[:, i].tolist(), float(end[i]))
        times[i] = np.inf if time is None else time
    return times


def _newton(series: Array, end: Array) -> Array:
    """Return the roots in [0, end] of decreasing series, shape (terms, m)."""
    time: Array = np.minimum(-series[0] / series[1], end)
    for _ in range(NEWTON):
        value, slope = series[-1] + 0.0, np.zeros_like(end)
        for term in series[-2::-1]:
            slope = slope * time + value
            value = value * time + term
        before = time
        time = np.clip(time - value / slope, 0.0, end)
        if (np.abs(time - before) <= 1e-16 * end).all():
            break
    return time
