# SPDX-License-Identifier: Apache-2.0
"""Motion of many robots with wheel friction: equations, and series of the speeds in a step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from arc_odometry.number_range import Array
from diffbot_description import FrictionLaw, Robot, closed_form, wheel_friction
from diffbot_sim.engines.caster_drag import CasterDrag
from diffbot_sim.engines.ideal import end_of_margin
from diffbot_sim.engines.motion_series import ORDER
from diffbot_sim.engines.wheel_friction import HOLDING, ROUNDING

Index = NDArray[np.intp]

# Largest last term of a series, relative to the speed and its first change in the step, from
# order FIRST on.
TRUNCATION, FIRST = 1e-13, 5
# Gauss-Legendre nodes on [0, 1] with weights for the displacement in a step. Relative errors: four
# nodes 6e-10 turn^8 (up to SHARP rad), six 2e-16 turn^12. Steps of more than SHARPEST are divided.
SHARP, SHARPEST = 0.35, 1.2
NODES = [
    [(0.5 * (node + 1.0), 0.5 * weight) for node, weight in zip(*leggauss(count), strict=True)]
    for count in (4, 6)
]


class BatchSeries:
    """Taylor coefficients, ascending, of the speeds of n robots (see motion_series.py).

    Args:
        v, omega: States, m/s and rad/s, (n,).
        rows: Rows of v' and omega', (2, 5, n).
        horizon: Time for which the series are needed, s.

    Attributes:
        change: Largest changes of v and omega within the horizon.
        span: Time for which the series are valid, s, at most the horizon.
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
        """Return v, omega, path, turn, x and y after a time, s, from a heading, rad, both (n,)."""
        v, path = _value_and_integral(self.v, time)
        omega, turn = _value_and_integral(self.omega, time)
        x, y = np.zeros_like(v), np.zeros_like(v)
        turns = [term / (k + 1) for k, term in enumerate(self.omega[:-1])]
        for node, weight in self._nodes:
            at = node * time
            speed = self.v[-1] * at
            angle = self.omega[-1] * (at / len(self.omega))
            for k in range(len(self.v) - 2, 0, -1):
                speed += self.v[k]
                speed *= at
                angle += turns[k]
                angle *= at
            speed += self.v[0]
            angle += turns[0]
            angle *= at
            angle += heading
            speed *= weight
            x += speed * np.cos(angle)
            y += speed * np.sin(angle)
        return v, omega, path, turn, x * time, y * time

    def of_wheels(
        self, where: Index, mode: Array, lever: Array, radius: Array
    ) -> tuple[Array, Array]:
        """Return series of mode x wheel speed of robots `where`, (terms, m), and their sizes.

        `lever`: rim speed of the wheel per yaw rate, m; `radius`: of the wheel, m.
        """
        order = len(self.centripetal)
        v = np.stack([term[where] for term in self.v[:order]]) / radius
        turn = np.stack([term[where] for term in self.omega[:order]]) * (lever / radius)
        return mode * (v + turn), np.abs(v) + np.abs(turn)

    def combined(self, where: Index, rows: Array) -> tuple[Array, Array]:
        """Return series and sizes, (terms, m), of a quantity of robots `where` with rows (5, m).

        See MotionSeries.combine and MotionSeries.magnitude.
        """
        order = len(self.centripetal)
        terms = np.array(
            [
                [each[where] for each in series[:order]]
                for series in (self.centripetal, self.coriolis, self.v, self.omega)
            ]
        )
        parts = rows[:4, None] * terms
        values, sizes = parts.sum(axis=0), np.abs(parts).sum(axis=0)
        values[0] += rows[4]
        sizes[0] += np.abs(rows[4])
        return values, sizes


def _convolved(first: list[Array], second: list[Array], k: int, scratch: Array) -> Array:
    total = first[0] * second[k]
    for j in range(1, k + 1):
        total += np.multiply(first[j], second[k - j], out=scratch)
    return total


def _squared(series: list[Array], k: int, scratch: Array) -> Array:
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


Modes = NDArray[np.int8]
Where = slice | Index

# Most Newton steps to a root; each doubles the number of correct digits.
NEWTON = 20


class BatchModel:
    """Models, without states, of n robots with plain friction; the last axis is the robots'.

    Attributes:
        k: K5 to K8 of each with its payload, (4, n).
        radius, half_track: m, (n,).
        holds: Whether the friction of a wheel can hold it, (2, n).
    """

    def __init__(self, robots: Sequence[Robot]) -> None:
        self.robots = list(robots)
        n = len(robots)
        self.radius = np.array([robot.model.wheel_radius for robot in robots])
        self.half_track = np.array([robot.model.half_track for robot in robots])
        self.k = np.empty((4, n))
        self._viscous, self._coulomb = np.empty((2, n)), np.empty((2, 2, n))
        self._gear_loss = np.array([robot.friction.gear_loss for robot in robots]).T
        self._geared = bool(self._gear_loss.any())
        for index in range(n):
            self.load(index, 0.0, 0.0, 0.0)

    def load(self, index: int, mass: float, x: float, yaw_inertia: float) -> None:
        """Put a payload on one robot; see IdealBatch.set_payload."""
        robot = self.robots[index]
        parameters = closed_form(robot.model.with_payload(mass, x, yaw_inertia))
        laws = wheel_friction(robot, mass, x)
        drags = CasterDrag(robot, parameters, mass, x).exists
        if drags or any(law.static is not None for law in laws):
            raise ValueError(
                f"robot {robot.name!r}: "
                f"{'casters that drag, or skid steer' if drags else 'static friction'} in a block; "
                'simulate it alone: make_simulator("ideal", robot)'
            )
        self.k[:, index] = parameters
        for side, law in enumerate(laws):
            self._set_friction(side, index, law)
        self.holds = (self._coulomb.max(axis=1) > 0.0) | (self._gear_loss > 0.0)
        self._plain = bool((self._coulomb[:, 0] == self._coulomb[:, 1]).all())

    def _set_friction(self, side: int, index: int, law: FrictionLaw[float]) -> None:
        self._viscous[side, index] = law.viscous
        self._coulomb[side, :, index] = law.sliding(1.0), law.sliding(-1.0)

    def _sliding(self, where: Where, modes: Modes | Array) -> Array:
        coulomb = self._coulomb[:, :, where]
        if self._plain:
            return coulomb[:, 0]
        return np.where(modes > 0, coulomb[:, 0], coulomb[:, 1])

    def _lost(self, where: Where, torque: Array) -> Array | float:
        return self._gear_loss[:, where] * np.abs(torque) if self._geared else 0.0

    def equations(
        self, where: Where, torque: Array, modes: Modes
    ) -> tuple[Array, dict[int, Array]]:
        """Return rows of v' and omega', (2, 5, n), and of holding wheels' torques, (5, n) each."""
        k5, k6, k7, k8 = self.k[:, where]
        radius, b = self.radius[where], self.half_track[where]
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
            by = np.array((k7, -sign * k8))
            acceleration = (rows[0] + sign * b * rows[1]) / radius
            hold = -acceleration / ((by[0] + sign * b * by[1]) / radius)
            hold[:, ~alone] = 0.0
            rows += by[:, None, :] * hold
            holding[side] = hold
        return rows, holding

    def events(
        self,
        where: Where,
        torque: Array,
        modes: Modes,
        series: BatchSeries,
        holding: dict[int, Array],
        end: Array,
    ) -> tuple[Index, Array]:
        """Find the first wheel that stops or is released up to `end`, which becomes its time.

        Return the wheels, -1 for none, and the signs of friction that held them, 0 for a stop,
        (n,).
        """
        wheel = np.full(len(end), -1)
        push = np.zeros(len(end))
        radius, b = self.radius[where], self.half_track[where]
        turn = b * series.omega[0]
        speeds = np.abs(np.stack((series.v[0] - turn, series.v[0] + turn)))
        near = speeds <= series.change[0] + b * series.change[1]
        if not near.any() and not holding:
            return wheel, push
        turning = near & (modes != HOLDING) & self.holds[:, where]
        lost = np.broadcast_to(self._lost(where, torque), torque.shape)
        for side, sign in ((0, -1.0), (1, 1.0)):
            slow = np.flatnonzero(turning[side])
            if len(slow):
                mode = modes[side, slow].astype(float)
                margins, sizes = series.of_wheels(slow, mode, sign * b[slow], radius[slow])
                times = _ends_of_margins(margins, sizes, end[slow])
                stops = np.isfinite(times)
                end[slow[stops]], wheel[slow[stops]] = times[stops], side
            if side not in holding:
                continue
            stuck = np.flatnonzero(holding[side].any(axis=0))
            friction, sizes = series.combined(stuck, holding[side][:, stuck])
            limits = (self._coulomb[side][:, where] + lost[side])[:, stuck]
            sizes[0] += limits.max(axis=0)
            margins = np.stack((-friction, friction))
            margins[:, 0] += limits[::-1]
            for j in np.flatnonzero(~_stay(margins, sizes, end[stuck]).all(axis=0)):
                i, size = stuck[j], sizes[:, j].tolist()
                for margin, direction in zip(margins[:, :, j].tolist(), (1.0, -1.0), strict=True):
                    time = end_of_margin(margin, size, float(end[i]))
                    if time is not None:
                        end[i], wheel[i], push[i] = time, side, direction
        return wheel, push

    def is_consistent(
        self, index: Index, torque: Array, modes: Modes, before: Modes, basis: Array
    ) -> NDArray[np.bool_]:
        """Return which of n robots move as `modes`, (2, n), the directions of their wheels, say.

        `before` are the directions before, (2, n); basis: omega^2, v omega, v, omega and 1, (5, n).
        """
        rows, holding = self.equations(index, torque, modes)
        a, alpha = (rows * basis).sum(axis=1)
        radius, b = self.radius[index], self.half_track[index]
        stuck = modes == HOLDING
        both = stuck[0] & stuck[1]
        needed = np.zeros_like(torque)
        for side, hold in holding.items():
            needed[side] = (hold * basis).sum(axis=0)
        # Both wheels hold: friction takes all of the torque, as the robot rests.
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


def _stay(margins: Array, sizes: Array, end: Array) -> NDArray[np.bool_]:
    """Return which margins, shape (k, terms, m), certainly stay above 0 up to `end`, (k, m)."""
    powers = end ** np.arange(1, len(sizes))[:, None]
    first = margins[:, 0]
    change = (np.abs(margins[:, 1:]) * powers).sum(axis=1)
    stay: NDArray[np.bool_] = (first > ROUNDING * sizes[0]) & (change < first)
    return stay


def _ends_of_margins(margins: Array, sizes: Array, end: Array) -> Array:
    """Return the times of end_of_margin for m series, shape (terms, m); infinite for None."""
    times = np.full(len(end), np.inf)
    present = np.abs(margins[:2]) > ROUNDING * sizes[:2]
    rest = present[0] | present[1]
    times[rest & (np.where(present[0], margins[0], margins[1]) < 0.0)] = 0.0
    # The root at 0 of a wheel that was just released does not count.
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
