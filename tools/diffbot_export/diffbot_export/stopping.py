# SPDX-License-Identifier: Apache-2.0
"""How far and how long a velocity robot drives on after a zero command, by its identified model."""

from __future__ import annotations

import math

from diffbot_export.known_robot import AxisLimits, KnownRobot
from diffbot_export.results import VelocityAxis
from diffbot_export.sourced_value import SourcedValue, product

# Time constants after which a first-order robot has lost 95 % of its speed.
SETTLED = 3.0


def stopping_distance(robot: KnownRobot, linear: AxisLimits) -> SourcedValue | None:
    """Return the distance from the top speed v, m; None: not a velocity robot, or not known.

    gain (v (dead time + time constant) + v^2 / (2 a)), with the driver's limit of deceleration a.
    """
    axis, speed = robot.results.velocity.get("v"), linear.velocity
    if axis is None or speed is None:
        return None
    gain = product("1", "1 / sigma3", (axis.drag, -1.0))
    lag = _lag(axis, 1.0)
    v = speed.value

    def travelled(at: float, late: float, brake: float) -> float:
        return at * v * (late + 0.5 * v / brake)

    down = axis.deceleration
    brakes = (math.inf,) * 3 if down is None else (down.value, down.low, down.high)
    ramp = "" if down is None else f", and {down.cited()}"
    return SourcedValue(
        travelled(gain.value, lag.value, brakes[0]),
        "m",
        f"from {v:g} m/s ({speed.source}) by time constant, gain and dead time{ramp}",
        travelled(gain.low, lag.low, brakes[2]) if lag.identified else None,
        travelled(gain.high, lag.high, brakes[1]) if lag.identified else None,
        speed.assumed,
    )


def stopping_time(robot: KnownRobot, linear: AxisLimits) -> SourcedValue | None:
    """Return the time in which 95 % of the top speed is lost, s; None as stopping_distance."""
    axis, speed = robot.results.velocity.get("v"), linear.velocity
    if axis is None or speed is None:
        return None
    lag, down = _lag(axis, SETTLED), axis.deceleration
    ends = (lag.value, lag.low, lag.high)
    if down is not None:
        brakes = (down.value, down.high, down.low)
        ends = tuple(end + speed.value / b for end, b in zip(ends, brakes, strict=True))  # type: ignore[assignment]
    return SourcedValue(
        ends[0],
        "s",
        f"dead time and {SETTLED:g} time constants of v"
        + ("" if down is None else ", and the driver's ramp from the top speed"),
        ends[1] if lag.identified else None,
        ends[2] if lag.identified else None,
        speed.assumed and down is not None,
    )


def _lag(axis: VelocityAxis, constants: float) -> SourcedValue:
    """Return dead time plus a number of time constants, s."""
    tau = product("s", "time constant", (axis.inertia, 1.0), (axis.drag, -1.0))
    late = axis.dead_time
    return SourcedValue(
        late.value + constants * tau.value,
        "s",
        "dead time and time constant",
        late.low + constants * tau.low if tau.identified else None,
        late.high + constants * tau.high if tau.identified else None,
    )
