# SPDX-License-Identifier: Apache-2.0
"""A velocity that changes in steps, to test the response of a controller of [v, omega]."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from pose2d_trajectories.reference import finite
from pose2d_trajectories.timing import UNITS, TrajectoryLimits

# Demonstration of decoupling, in s, m/s, rad/s: each step changes only one velocity.
DEMONSTRATION = (
    (0.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5),  # times
    (0.0, 0.4, 0.4, 0.0, -0.4, -0.4, 0.0),  # linear
    (0.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.0),  # angular
)


class VelocitySteps:
    """Holds a velocity from the time of each step to that of the next; at rest before the first.

    Args:
        times: Start time of each step, s, >= 0, increasing; at least one.
        linear: Velocity along the robot's x axis from then on, m/s; `angular`: yaw rate, rad/s.
        limits: Limits of the velocities; those of the accelerations are not used.

    Raises:
        ValueError: A number is wrong; the message states its name and index, value and limit.
    """

    def __init__(
        self,
        times: Sequence[float],
        linear: Sequence[float],
        angular: Sequence[float],
        limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008  (frozen)
    ) -> None:
        if not len(times) == len(linear) == len(angular) >= 1:
            raise ValueError(
                f"times, linear, angular have {len(times)}, {len(linear)}, {len(angular)} numbers: "
                "must be one each for every step, and at least one step"
            )
        self._times = _increasing(times)
        self._steps = tuple(
            zip(
                _within("linear", linear, "linear_velocity", limits),
                _within("angular", angular, "angular_velocity", limits),
                strict=True,
            )
        )

    @property
    def duration(self) -> float:
        """Start time of the last step, s."""
        return self._times[-1]

    @property
    def ends_at_rest(self) -> bool:
        return self._steps[-1] == (0.0, 0.0)

    def at(self, t: float) -> tuple[float, float]:
        """Return the velocity (v in m/s, omega in rad/s) at time t, s."""
        index = bisect_right(self._times, t) - 1
        return self._steps[index] if index >= 0 else (0.0, 0.0)


def _increasing(times: Sequence[float]) -> tuple[float, ...]:
    checked = tuple(finite(f"times[{index}]", time, "s") for index, time in enumerate(times))
    if checked[0] < 0.0:
        raise ValueError(f"times[0] = {checked[0]} s: must be >= 0")
    for index, (before, time) in enumerate(zip(checked, checked[1:], strict=False)):
        if time <= before:
            raise ValueError(
                f"times[{index + 1}] = {time} s: must be > times[{index}] = {before} s; give the "
                "steps in their order"
            )
    return checked


def _within(
    name: str, values: Sequence[float], quantity: str, limits: TrajectoryLimits
) -> tuple[float, ...]:
    unit, limit = UNITS[quantity], getattr(limits, quantity)
    checked = tuple(finite(f"{name}[{index}]", value, unit) for index, value in enumerate(values))
    for index, value in enumerate(checked):
        if abs(value) > limit:
            raise ValueError(
                f"{name}[{index}] = {value} {unit}: must be between {-limit} and {limit} {unit}, "
                f"the limit of {quantity}"
            )
    return checked
