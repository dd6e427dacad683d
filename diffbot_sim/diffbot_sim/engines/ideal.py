# SPDX-License-Identifier: Apache-2.0
"""The closed-form model (41) of Lages (2017) with friction, integrated as exactly as floats allow.

docs/theory/simulators.md#the-ideal-engine
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from diffbot_description import DynamicParameters, Robot
from diffbot_description.robot import Friction, Pair
from diffbot_sim.engines.motion_series import (
    MOST_PIECES,
    MotionSeries,
    Row,
    evaluate,
    first_root,
    motion_series,
)
from diffbot_sim.engines.wheel_friction import HOLDING, ROUNDING, PlanarDynamics, WheelFriction
from diffbot_sim.simulator import (
    NO_PUSH,
    Triple,
    check_duration,
    check_payload,
    check_pose,
    check_torque,
)

# Index of the floor's contact against turning, after the two wheels.
FLOOR = 2
# Speed below which a robot with dragging casters is stopped at once or started directly, m/s.
SLOW = 1e-5


class IdealSimulator:
    """Closed-form model of a robot with wheel friction; see Simulator for the interface."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._radii = robot.wheels.rolling_radii
        self._half_track = robot.model.half_track
        self._friction = WheelFriction(robot)
        self.paused = False
        self.reset()

    def reset(self, pose: Triple = (0.0, 0.0, 0.0)) -> None:
        self._x, self._y, self._theta = check_pose(pose)
        self.time = 0.0
        self._v = self._omega = 0.0
        self._angles = [0.0, 0.0]
        # What has no dry friction never holds; its direction has no effect.
        drags = bool(self._friction.drag.casters)
        self._modes = [HOLDING if holds or drags else 1 for holds in self._friction.holds]

    def step(self, torque: Pair, duration: float, push: Pair = NO_PUSH) -> None:
        torque, push = check_torque(torque), check_torque(push)
        self._friction.load_gears(torque)
        torque = torque[0] + push[0], torque[1] + push[1]
        remaining = check_duration(duration)
        self._choose_modes(torque)
        for _ in range(MOST_PIECES):
            remaining -= self._stop_or_start(torque, remaining)
            if remaining <= 0.0:
                self.time += duration
                return
            dynamics = self._friction.dynamics(torque, self._modes)
            series = motion_series(
                self._v,
                self._omega,
                self._theta,
                dynamics.acceleration,
                remaining,
                self._friction.functions,
            )
            end, wheel = self._next_event(series, dynamics, min(series.span, remaining))
            self._advance(series, end)
            if wheel is not None:
                self._change_mode(wheel, series.combine(dynamics.holding[wheel]), end, torque)
            remaining -= end
            if remaining <= 0.0:
                self.time += duration
                return
        raise FloatingPointError(
            f"a step of {duration} s at torque {torque} N m needs more than {MOST_PIECES} pieces; "
            "use a shorter step or less torque"
        )

    def wheel_angles(self) -> Pair:
        return self._angles[0], self._angles[1]

    def wheel_velocities(self) -> Pair:
        """See Simulator.wheel_velocities; exactly 0 for a wheel that holds."""
        turn = self._half_track * self._omega
        left, right = self._modes[:2]
        return (
            0.0 if left == HOLDING else (self._v - turn) / self._radii[0],
            0.0 if right == HOLDING else (self._v + turn) / self._radii[1],
        )

    def pose(self) -> Triple:
        return self._x, self._y, self._theta

    def velocity(self) -> Pair:
        return self._v, self._omega

    def parameters(self) -> DynamicParameters:
        return self._friction.parameters

    def close(self) -> None:
        """See Simulator.close."""

    def set_payload(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        check_payload(mass, x, z, yaw_inertia)
        self._friction = WheelFriction(self._robot, mass, x, yaw_inertia)

    def set_friction(self, friction: Friction) -> None:
        """Replace the wheels' friction, without a payload; the motion continues without a jump."""
        self._robot = replace(self._robot, friction=friction)
        self._friction = WheelFriction(self._robot)

    def _next_event(
        self, series: MotionSeries, dynamics: PlanarDynamics, end: float
    ) -> tuple[float, int | None]:
        """Return time (s) and wheel of the first stop or release up to `end`; None: no wheel."""
        event = None
        if not (any(self._friction.holds) or self._friction.functions):
            return end, event
        changes = series.changes(end)
        for wheel, mode in enumerate(self._modes):
            if not self._friction.holds[wheel]:
                continue
            if mode != HOLDING and self._stays(self._friction.wheel_speed[wheel], mode, changes):
                continue
            row = dynamics.holding[wheel] if mode == HOLDING else self._friction.wheel_speed[wheel]
            if mode == HOLDING:
                friction = series.combine(row)
                margins = [[-f for f in friction], list(friction)]
                for margin, push in zip(margins, (1.0, -1.0), strict=True):
                    margin[0] += self._friction.limit(wheel, push)
            else:
                margins = [[mode * term for term in series.combine(row)]]
            for margin in margins:
                time = end_of_margin(margin, self._sizes(series, row, wheel), end)
                if time is not None:
                    end, event = time, wheel
        for function in self._friction.functions:
            for bound in function.validity(self._v, self._omega):
                if self._stays(bound, 1, changes):
                    continue
                time = end_of_margin(series.combine(bound), series.magnitude(bound), end)
                if time is not None and time < end:
                    end, event = time, None
        return end, event

    def _stays(self, row: Row, sign: int, changes: Pair) -> bool:
        """Return whether a quantity, linear in v and omega, surely keeps its sign."""
        _, _, per_v, per_omega, constant, *_ = row
        of_v, of_omega = per_v * self._v, per_omega * self._omega
        change = abs(per_v) * changes[0] + abs(per_omega) * changes[1]
        size = abs(of_v) + abs(of_omega) + abs(constant)
        return sign * (of_v + of_omega + constant) > change + ROUNDING * (size + change)

    def _sizes(self, series: MotionSeries, row: Row, wheel: int) -> Iterator[float]:
        """Yield, term by term, the magnitudes that scale the rounding error of a wheel's margin."""
        at, more = 0, 0.0
        if self._modes[wheel] == HOLDING:
            more = max(self._friction.limit(wheel, push) for push in (1.0, -1.0))
        elif wheel == FLOOR:
            # At release the floor's friction and the torques cancel up to rounding.
            at, more = 1, self._friction.floor_acceleration
        for k, size in enumerate(series.magnitude(row)):
            yield size + more if k == at else size

    def _advance(self, series: MotionSeries, time: float) -> None:
        path, turn = evaluate(series.path, time), evaluate(series.theta, time)
        self._x += evaluate(series.x, time)
        self._y += evaluate(series.y, time)
        self._theta += turn
        for wheel, side in enumerate((-1.0, 1.0)):
            if self._modes[wheel] != HOLDING:
                self._angles[wheel] += (path + side * self._half_track * turn) / self._radii[wheel]
        self._v, self._omega = evaluate(series.v, time), evaluate(series.omega, time)
        self._rest_holding_wheels()

    def _change_mode(self, wheel: int, friction: list[float], time: float, torque: Pair) -> None:
        if self._modes[wheel] == HOLDING:
            self._modes[wheel] = -1 if evaluate(friction, time) > 0.0 else 1
            return
        self._modes[wheel] = HOLDING
        self._rest_holding_wheels()
        self._choose_modes(torque)

    def _choose_modes(self, torque: Pair) -> None:
        if not self._is_stuck_by_casters():
            self._modes = self._friction.choose_modes(self._v, self._omega, torque, self._modes)

    def _is_stuck_by_casters(self) -> bool:
        return bool(self._friction.drag.casters) and self._modes == [HOLDING, HOLDING]

    def _stop_or_start(self, torque: Pair, remaining: float) -> float:
        """Stop a slow robot whose casters drag, or let it start; return the time taken, s.

        As it stops, casters turn ever faster and series become ever shorter. So below SLOW the
        remaining distance, SLOW^2 / acceleration, is skipped.
        """
        if not self._friction.drag.casters:
            return 0.0
        b, stuck = self._half_track, self._is_stuck_by_casters()
        speed = math.hypot(self._v, b * self._omega)
        if not stuck and speed >= SLOW:
            return 0.0
        departure = self._friction.departure(torque)
        if departure is None:
            self._v = self._omega = 0.0
            self._modes = [HOLDING, HOLDING]
            return remaining
        start, modes = departure
        drag = self._friction.drag
        along = drag.mass * self._v * start.v + drag.inertia * self._omega * start.omega
        if stuck or along <= 0.0:
            self._v = self._omega = 0.0
        elif speed >= 0.1 * SLOW:
            return 0.0
        time = min(remaining, SLOW / math.hypot(start.v, b * start.omega))
        self._v += start.v * time
        self._omega += start.omega * time
        self._modes = modes
        return time

    def _rest_holding_wheels(self) -> None:
        left, right, *floor = (mode == HOLDING for mode in self._modes)
        b = self._half_track
        if left + right + any(floor) >= 2:
            self._v = self._omega = 0.0
        elif any(floor):
            self._omega = 0.0
        elif left:
            self._v = 0.5 * (self._v + b * self._omega)
            self._omega = self._v / b
        elif right:
            self._v = 0.5 * (self._v - b * self._omega)
            self._omega = -self._v / b


def end_of_margin(margin: list[float], sizes: Iterable[float], end: float) -> float | None:
    """Return the first time in [0, end] (s) at which a margin, initially >= 0, turns negative.

    Args:
        margin: Coefficients of its series in time, ascending.
        sizes: Magnitudes that scale the rounding error of each coefficient.
        end: End of the interval, s.
    """
    for k, (term, size) in enumerate(zip(margin, sizes, strict=True)):
        if abs(term) > ROUNDING * size:
            return 0.0 if term < 0.0 else first_root(margin[k:], end)
    return None
