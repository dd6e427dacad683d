# SPDX-License-Identifier: Apache-2.0
"""Find the wheel whose angles and efforts are both negative where it rolls forward.

The centre of mass tells it, or exchanged inertias: docs/theory/recordings.md#signs-of-the-wheels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description import Robot, closed_form
from diffbot_ident.samples.wheel_speeds import turns
from diffbot_recordings.samples import POSITIONS, SIDES, Array
from diffbot_recordings.segments import Segment

# Speeds are averages over SMOOTH, windows span WINDOW, torques act up to LATE later, s.
SMOOTH, WINDOW, LATE = 0.05, 0.2, 0.05
# Logarithm of the patterns' likelihood ratio that decides.
EVIDENCE = 10.0
# Standard deviations of both coefficients, and most imbalance of the coupling's work.
CLEAR, LARGEST_FACTOR = 5.0, 2.0
# Logarithms of ratios: exchanged inertias fit better by this, the described ones are off by that.
EXCHANGED, DIFFERENT = 0.3, 0.25
# Columns: changes of v and omega, torques, late torques, speeds and signs of the wheels, products.
_DV, _DOMEGA, _OTHERS = 0, 1, slice(2, 10)
_VV, _VW, _WW = 10, 11, 12
_COLUMNS = 13


@dataclass(frozen=True)
class _Pattern:
    """A fit with one product for each axis, clear if both coefficients differ from 0.

    `likelihood`: twice the logarithm of its likelihood per window, up to a constant.
    """

    likelihood: float
    coefficients: tuple[float, float]
    clear: bool


class WheelSigns:
    """Collects the motion while the segments of a recording pass on to the analysis."""

    def __init__(self, geometry: WheelGeometry) -> None:
        self._geometry = geometry
        self._moments = np.zeros((_COLUMNS, _COLUMNS))
        self._windows = 0.0

    def watched(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        for segment in segments:
            self._collect(segment)
            yield segment

    def _collect(self, segment: Segment) -> None:
        period = segment.period
        smooth, window, late = (max(1, round(x / period)) for x in (SMOOTH, WINDOW, LATE))
        times = np.arange(segment.times[0], segment.times[-1], period)
        if len(times) < smooth + window + late + 2:
            return
        path = np.vstack([np.zeros(2), np.cumsum(turns(segment.pair(POSITIONS)), axis=0)])

        def even(columns: Array) -> Array:
            return np.column_stack([np.interp(times, segment.times, each) for each in columns.T])

        acting = segment.pair(segment.efforts)[1:]
        impulses = np.cumsum(acting * np.diff(segment.times)[:, None], axis=0)
        turned, pushed = even(path), even(np.vstack([np.zeros(2), impulses]))
        # Equal linear operations keep the torques' terms exact.
        speeds = (turned[smooth:] - turned[:-smooth]) / (smooth * period)
        sums = np.cumsum(pushed, axis=0)
        pushes = (sums[smooth:] - sums[:-smooth]) / smooth
        r, b = self._geometry.left_radius, self._geometry.half_track
        v, omega = 0.5 * r * speeds.sum(axis=1), 0.5 * r * (speeds[:, 1] - speeds[:, 0]) / b
        products = np.column_stack([speeds, np.sign(speeds), v * v, v * omega, omega * omega])
        done = np.cumsum(products, axis=0) * period
        first = np.arange(late, len(v) - window, max(1, smooth))
        last = first + window
        rows = np.column_stack([
            v[last] - v[first],
            omega[last] - omega[first],
            pushes[last] - pushes[first],
            pushes[last - late] - pushes[first - late],
            done[last] - done[first],
        ])  # fmt: skip
        self._moments += rows.T @ rows
        self._windows += len(first) * smooth / window

    def contradiction(self, k7: float, k8: float, robot: Robot | None) -> str | None:
        """Return which wheel's sign contradicts the description, and what to change; None: none."""
        if not (k7 > 0.0 > k8) or self._windows < 2 * _COLUMNS:
            return None
        right, reversed_one = self._pattern(_WW, _VW), self._pattern(_VW, _VV)
        gain = 0.5 * self._windows * (reversed_one.likelihood - right.likelihood)
        which = None
        if gain > EVIDENCE and reversed_one.clear:
            which = self._by_coupling(reversed_one, k7, k8, robot)
        elif gain > -EVIDENCE:
            which = self._by_inertia(k7, k8, robot)
        if which is None:
            return None
        wheels = " or ".join(f"the {SIDES[side]} wheel" for side in which)
        signs = " or ".join(str(_changed(robot, side)) for side in which)
        return (
            f"the sign of {wheels} is reversed: its position and effort are negative where it "
            f"rolls forward{'' if robot is None else ', unlike in the description'}; set "
            f"joints.signs: {signs} in the robot's file, or change both signs in the recording"
        )

    def _by_coupling(
        self, pattern: _Pattern, k7: float, k8: float, robot: Robot | None
    ) -> tuple[int, ...] | None:
        along, turning = pattern.coefficients
        geometry = self._geometry
        mass, inertia = 1.0 / k7, -geometry.half_track / k8  # both times the radius
        balance = -mass * along / (inertia * turning)
        if not 1.0 / LARGEST_FACTOR < balance < LARGEST_FACTOR:
            return None
        k5 = 0.0 if robot is None else closed_form(robot.model).k5
        if k5 == 0.0:
            return 0, 1
        return (0,) if turning * k5 > 0.0 else (1,)

    def _by_inertia(self, k7: float, k8: float, robot: Robot | None) -> tuple[int, ...] | None:
        if robot is None:
            return None
        described = closed_form(robot.model)
        # Inertias of a wheel as both turn alike and opposite, each over r / 2.
        result, own = (
            (1.0 / linear, -1.0 / (self._geometry.half_track * angular))
            for linear, angular in ((k7, k8), (described.k7, described.k8))
        )
        as_described = np.abs(np.log(np.divide(result, own))).sum()
        exchanged = np.abs(np.log(np.divide(result, own[::-1]))).sum()
        exchange = as_described > DIFFERENT and exchanged < EXCHANGED * as_described
        return (0, 1) if exchange else None

    def _pattern(self, along: int, turning: int) -> _Pattern:
        likelihood, coefficients, clear = 0.0, [], True
        for output, product in ((_DV, along), (_DOMEGA, turning)):
            columns = [*range(_OTHERS.start, _OTHERS.stop), product]
            own = self._moments[np.ix_(columns, columns)]
            scale = np.sqrt(np.maximum(own.diagonal(), 1e-300))
            inverse = np.linalg.pinv(own / np.outer(scale, scale), rcond=1e-10)
            toward = self._moments[columns, output] / scale
            result = inverse @ toward
            power = self._moments[output, output]
            rest = max(float(power - toward @ result), 1e-12 * float(power), 1e-300)
            likelihood -= math.log(rest)
            spread = math.sqrt(rest / self._windows * max(float(inverse[-1, -1]), 0.0))
            clear = clear and abs(float(result[-1])) > CLEAR * spread
            coefficients.append(float(result[-1] / scale[-1]))
        return _Pattern(likelihood, (coefficients[0], coefficients[1]), clear)


def opposite_centre(k5: float, half_width: float, robot: Robot | None) -> str | None:
    """Return a warning if the centre of mass is on the other side of the axle than described.

    Both wheels may be reversed then: only K5, m, and K6 change their signs.
    """
    described = 0.0 if robot is None else closed_form(robot.model).k5
    if robot is None or not k5 * described < 0.0 or abs(k5) < max(2 * half_width, described / 2):
        return None
    signs = [-sign for sign in robot.joints.directions]
    return (
        f"K5 = {k5:.4g} m, and {described:.4g} m in the description: the centre of mass is on the "
        "other side of the axle, or both wheels' signs are reversed; if it is the signs, set "
        f"joints.signs: {signs} in the robot's file"
    )


def _changed(robot: Robot | None, side: int) -> list[int]:
    sides = ((1,), (1,)) if robot is None else robot.joints.side_signs
    return [-sign if i == side else sign for i, own in enumerate(sides) for sign in own]
