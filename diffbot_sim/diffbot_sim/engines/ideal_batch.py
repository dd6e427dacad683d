# SPDX-License-Identifier: Apache-2.0
"""The ideal engine for many robots at once: IdealSimulator with a robot axis, in NumPy.

A step is one series for all; robots of which a wheel stops, starts or reverses go on in ever
smaller groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry.number_range import Array
from diffbot_description import DynamicParameters, Robot
from diffbot_sim.engines.batch_model import BatchModel, BatchSeries, Index, Modes, Where
from diffbot_sim.engines.motion_series import MOST_PIECES
from diffbot_sim.engines.wheel_friction import HOLDING
from diffbot_sim.simulator import check_duration, check_payload


class IdealBatch:
    """Closed-form models of n robots whose wheels have viscous and Coulomb friction and gears.

    Attributes:
        time: Time since the reset, s.
        v, omega: Body velocities, m/s and rad/s, (n,).
        x, y, theta: Poses, m and rad, (n,).
        angles: Wheel angles [left, right], rad, (2, n).

    Raises:
        ValueError: There is no robot, or one has other friction.
    """

    def __init__(self, robots: Sequence[Robot]) -> None:
        if not robots:
            raise ValueError("a block of 0 robots: give at least one")
        self._model = BatchModel(robots)
        self.reset()

    def __len__(self) -> int:
        return len(self._model.robots)

    @property
    def parameters(self) -> DynamicParameters:
        """K5 to K8 of each robot with its payload, (n,) each."""
        return DynamicParameters(*self._model.k)

    def reset(self, poses: ArrayLike | None = None) -> None:
        """Put the robots at rest at poses, rows x, y (m) and theta (rad), (3, n); None: all 0."""
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
        self._modes = np.where(self._model.holds, HOLDING, 1).astype(np.int8)

    def set_payload(self, index: int, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        """Put a payload on robot `index`; see Simulator.set_payload."""
        check_payload(mass, x, z, yaw_inertia)
        self._model.load(index, mass, x, yaw_inertia)

    def wheel_velocities(self) -> Array:
        """Return wheel speeds [left, right], rad/s, (2, n); exactly 0 for holding wheels."""
        turn = self._model.half_track * self.omega
        speeds = np.stack((self.v - turn, self.v + turn)) / self._model.radius
        return np.where(self._modes == HOLDING, 0.0, speeds)

    def step(self, torque: Array, duration: float) -> None:
        """Advance all robots under torques [left, right], N m, (2, n); see Simulator.step."""
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
            f"{[self._model.robots[i].name for i in chosen[:3]]}; use a shorter step or less torque"
        )

    def _piece(self, where: Where, torque: Array, remaining: Array) -> Array:
        """Advance some robots to their next event, or to the end; return the time left, s."""
        modes = self._modes[:, where]
        rows, holding = self._model.equations(where, torque, modes)
        series = BatchSeries(self.v[where], self.omega[where], rows, float(remaining.max()))
        end = np.minimum(remaining, series.span)
        wheel, push = self._model.events(where, torque, modes, series, holding, end)
        self._advance(where, modes, series, end)
        left = remaining - end
        left[remaining - end <= 0.0] = 0.0
        changed = np.flatnonzero(wheel >= 0)
        if len(changed):
            index = changed if isinstance(where, slice) else where[changed]
            self._change_modes(index, wheel[changed], push[changed], torque[:, changed])
        return left

    def _advance(self, where: Where, modes: Modes, series: BatchSeries, end: Array) -> None:
        # Mostly all steps end at the same time, and scalars are faster.
        same = bool((end == end[0]).all())
        v, omega, path, turn, x, y = series.at(end[0] if same else end, self.theta[where])
        self.x[where] += x
        self.y[where] += y
        self.theta[where] += turn
        sense = self._model.half_track[where] * turn
        turns = np.stack((path - sense, path + sense)) / self._model.radius[where]
        stuck = modes == HOLDING
        some = bool(stuck.any())
        if some:
            turns[stuck] = 0.0
        self.angles[:, where] += turns
        self.v[where], self.omega[where] = v, omega
        if some:
            self._rest(np.arange(len(self))[where])

    def _rest(self, index: Index) -> None:
        left, right = self._modes[:, index] == HOLDING
        v, b = self.v[index], self._model.half_track[index]
        turn = b * self.omega[index]
        by_left, by_right = 0.5 * (v + turn), 0.5 * (v - turn)
        both, only_left, only_right = left & right, left & ~right, right & ~left
        self.v[index] = np.select([both, only_left, only_right], [0.0 * v, by_left, by_right], v)
        self.omega[index] = np.select(
            [both, only_left, only_right], [0.0 * v, by_left / b, -by_right / b], self.omega[index]
        )

    def _change_modes(self, index: Index, wheel: Index, push: Array, torque: Array) -> None:
        stuck = self._modes[wheel, index] == HOLDING
        self._modes[wheel, index] = np.where(stuck, -np.sign(push), HOLDING).astype(np.int8)
        stopped = index[~stuck]
        self._rest(stopped)
        self._choose_modes(stopped, torque[:, ~stuck])

    def _choose_modes(self, index: Index, torque: Array) -> None:
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
            fits &= self._model.is_consistent(index, torque, modes.astype(np.int8), before, basis)
            chosen[:, fits] = modes[:, fits]
            undecided &= ~fits
        self._modes[:, index] = chosen
