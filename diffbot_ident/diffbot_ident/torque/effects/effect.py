# SPDX-License-Identifier: Apache-2.0
"""What an effect outside the model is to the estimator; a new one is added to `EFFECTS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.samples.wheel_speeds import TorqueResponse, WheelSpeeds
from diffbot_ident.torque.columns import AxisFit, ExtraColumns
from diffbot_ident.torque.effects.evidence import beyond_chance


@dataclass(frozen=True)
class StepMotion:
    """Motion and torques of m steps, each from the middle of a period to that of the next one.

    Attributes:
        slow: Wheel speed below which friction may differ, rad/s.
        sampling: Mean time between samples, s.
        fine: Samples per control period.
        first: Period in which the first step begins.
        at: The steps among the changes from each of n periods to the next one.
        period: Control periods, s, shape (n,).
        gap: Durations of the steps, s, shape (m,).
        angles: Wheel angles at the steps, one before and one after, rad, shape (m + 2, 2).
        heading: Headings at the steps, rad, shape (m,).
        v_squared: Means of v^2, m^2/s^2, shape (m,).
        signs: Integrals of the wheels' signs over the periods, rising and falling, s, (n, 2).
        unexpected: Measured less expected gains in the wheels' speeds, rad/s, shape (m, 2).
        torques: Torques as they act, N m, shape (n, 2); `size`: means of their sizes.
        dry: Coulomb friction and gear loss of the wheels, N m.
        pull: Accelerations beside the torques', m/s^2 and rad/s^2, shape (n, 2).
        impulse: Integrals of the torques over the samples from `reach` periods before on, N m s.
    """

    geometry: WheelGeometry
    response: TorqueResponse
    slow: float
    sampling: float
    fine: int
    first: int
    at: slice
    period: Array
    gap: Array
    angles: Array
    heading: Array
    v_squared: Array
    wheels: WheelSpeeds
    yaw: WheelSpeeds
    signs: tuple[Array, Array]
    unexpected: Array
    torques: Array
    size: Array
    dry: Array
    pull: Array
    impulse: Array
    reach: int

    def changed_products(self, speeds: Array, change: Array) -> Array:
        """Return by how much changes of wheel speeds, rad/s, (m, 2), change omega^2 and v omega."""
        v, omega = self.geometry.body_velocity(*speeds.T)
        along, around = self.geometry.body_velocity(*change.T)
        changed = np.column_stack((2.0 * omega * around, v * around + omega * along))
        result: Array = self.gap[:, None] * changed
        return result


@dataclass(frozen=True)
class EffectFit:
    """Parameters of an effect that is part of a fit.

    Attributes:
        own: Parameters of its columns in dv/dt and in domega/dt.
        gains: K7 and K8.
        torque: Typical torque of a wheel, N m: the root mean square.
    """

    own: tuple[Array, Array]
    gains: tuple[float, float]
    torque: float
    geometry: WheelGeometry

    def of_angles(self) -> Array:
        """Return what the columns are of each wheel's angle or speed, mean of both axes, (k, 2)."""
        left, right = self.geometry.left_radius, self.geometry.right_radius
        b = self.geometry.half_track
        return self._of_wheels((0.5 * left, 0.5 * right), (-0.5 * left / b, 0.5 * right / b))

    def of_torques(self) -> Array:
        """Return what the columns are of each wheel's torque, N m, mean of both axes, (k, 2)."""
        k7, k8 = self.gains
        return self._of_wheels((k7, k7), (k8, -k8))

    def _of_wheels(self, on_v: Pair, on_omega: Pair) -> Array:
        linear, angular = (
            np.reshape(own[: len(own) // 2 * 2], (-1, 2)) / effect
            for own, effect in zip(self.own, (on_v, on_omega), strict=True)
        )
        mean: Array = 0.5 * (linear + angular)
        return mean


Evidence = Callable[[Sequence[AxisFit], ExtraColumns], float]
"""Evidence beyond the threshold, by fits of both axes whose last columns are the own ones."""


def always(moments: Array) -> bool:
    """Whether any motion can tell an effect."""
    return True


@dataclass(frozen=True)
class Effect:
    """An effect outside the model.

    Attributes:
        columns: Columns that explain it in dv/dt and in domega/dt.
        fill: Fills in its own columns of m steps, shape (m, columns); None: it has none.
        warning: What it is and what to do; empty where there is nothing to do.
        floor: Relative deviation that remains in K5..K8, as columns describe it only roughly.
        friction_factor: Factor on the deviations of friction, >= 1, as the columns resemble it;
            this and `floor` by random robots (benchmarks/trust.py random).
        least: Least relative deviation of K5..K8 where the columns are nearly exact.
        evidence: Test of all rows: the effect is sure if it is > 0.
        roughness: Relative deviation of K5..K8 by the size of the effect; None: `floor` suffices.
        possible: Whether the motion can tell the effect, by the moments of the rows.
        size: Size for the left and the right wheel; None: it has none.
        least_size: Smallest `size` to report, of the larger wheel.
        said: Size in words; None: it has none.
        like_a_delay: Whether it resembles a delay of the torque.
        of_torques: Whether its columns are those of torques.
        alike: Whether it is likely to be the same friction at both wheels.
        one_robot: Whether it can only be told where all rows are of one robot.
        refused: Whether no value can be given where it is present.
    """

    name: str
    columns: ExtraColumns
    warning: str = ""
    fill: Callable[[Array, StepMotion], None] | None = None
    floor: float = 0.0
    friction_factor: float = 1.0
    least: float = 0.0
    evidence: Evidence = beyond_chance
    roughness: Callable[[EffectFit], float] | None = None
    possible: Callable[[Array], bool] = always
    size: Callable[[EffectFit], Pair] | None = None
    least_size: float = 0.0
    said: Callable[[Estimate, Pair | None], str | None] | None = None
    like_a_delay: bool = False
    of_torques: bool = False
    once_per_turn: bool = False
    alike: bool = False
    one_robot: bool = False
    refused: bool = False

    def notable(self, size: Pair | None) -> bool:
        """Return whether the effect is worth a warning; size None: not known."""
        return bool(self.warning) and (size is None or max(size) >= self.least_size)

    def sentence(self, estimate: Estimate, size: Pair | None) -> str:
        """Return the warning about the effect, with its size where that is known."""
        said = None if self.said is None else self.said(estimate, size)
        return self.warning if said is None else f"{self.warning} ({said})"
