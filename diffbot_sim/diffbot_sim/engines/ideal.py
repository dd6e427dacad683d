"""The closed-form model (41) of Lages (2017) with friction, integrated as exactly as floats allow.

    v'     = K5 omega^2   + K7 (T_left + T_right)
    omega' = K6 v omega   + K8 (T_left - T_right)
    T = tau - viscous w - coulomb sign(w),   w_left, w_right = (v -+ b omega) / r

A wheel at rest holds as long as the friction that this needs is within its Coulomb limit. The
wheel accelerations depend on the torques through a symmetric positive definite matrix, so exactly
one choice of holding and slipping wheels is consistent (a linear complementarity problem).

Each step is a chain of Taylor series of order 18 that end where a wheel stops, starts or reverses
(roots of polynomials, found safely). There is no step-size to choose and no chatter at rest.
Largest difference from scipy's DOP853 (rtol 1e-13) over 60 random steps of 0.1 to 50 ms at up to
the torque limits, relative to max(|value|, 1e-3): 4e-13, for twil and agv. Coasting to rest under
friction meets its analytic solution to 1e-12 too. One 10 ms step takes about 0.1 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from diffbot_description import DynamicParameters, Robot, RobotModel, closed_form
from diffbot_sim.engines.motion_series import (
    MOST_PIECES,
    MotionSeries,
    evaluate,
    first_root,
    motion_series,
)
from diffbot_sim.simulator import check_duration, check_payload, check_pose, check_torque

HOLDING = 0
"""Mode of a wheel at rest; +1 and -1 are the directions of a turning one."""

# Relative. Friction may exceed its limit by so much before a wheel counts as released, and a
# coefficient below this part of what was added up to it is an exact zero.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PlanarDynamics:
    """Rows of v', omega' and of the friction torques (N m) that hold the wheels [left, right]."""

    acceleration: tuple[list[float], list[float]]
    holding: tuple[list[float], list[float]]


class WheelFriction:
    """Equations of motion for given modes of the wheels, and the choice of those modes.

    Args:
        parameters: K5..K8.
        radius: wheel radius, m.
        half_track: b, m.
        viscous, coulomb: friction of the wheels [left, right], N m s/rad and N m, >= 0.
    """

    def __init__(
        self,
        parameters: DynamicParameters,
        radius: float,
        half_track: float,
        viscous: tuple[float, float],
        coulomb: tuple[float, float],
    ) -> None:
        self.parameters = parameters
        self.coulomb = coulomb
        self._viscous = viscous
        k7, k8 = parameters.k7, parameters.k8
        self._input = np.array([[k7, k7], [k8, -k8]])  # wheel torques -> [v', omega']
        self._wheels = np.array([[1.0, -half_track], [1.0, half_track]]) / radius
        # Rows of the wheel speeds [left, right], rad/s.
        self.wheel_speed = [[0.0, 0.0, *speeds, 0.0] for speeds in self._wheels.tolist()]

    def dynamics(self, torque: tuple[float, float], modes: list[int]) -> PlanarDynamics:
        """Equations of motion while the modes of the wheels [left, right] last."""
        torques = np.zeros((2, 5))
        for i in range(2):
            torques[i, 2:4] = -self._viscous[i] * self._wheels[i]
            torques[i, 4] = torque[i] - self.coulomb[i] * modes[i]
        drift = np.zeros((2, 5))
        drift[0, 0], drift[1, 1] = self.parameters.k5, self.parameters.k6
        free = drift + self._input @ torques
        holding = np.zeros((2, 5))
        held = [i for i in range(2) if modes[i] == HOLDING]
        if held:
            gain = self._wheels[held] @ self._input[:, held]
            holding[held] = -np.linalg.solve(gain, self._wheels[held] @ free)
        rows = (free + self._input @ holding).tolist()
        if len(held) == 2:
            rows = [[0.0] * 5, [0.0] * 5]
        left, right = holding.tolist()
        return PlanarDynamics((rows[0], rows[1]), (left, right))

    def choose_modes(
        self, v: float, omega: float, torque: tuple[float, float], modes: list[int]
    ) -> list[int]:
        """Modes from now on: turning wheels keep theirs, wheels at rest hold or start to turn.

        Args:
            v, omega: body velocity, m/s and rad/s.
            torque: acting from now on, N m.
            modes: HOLDING for each wheel that is at rest now, else its direction.
        """
        if HOLDING not in modes:
            return list(modes)
        basis = np.array([omega * omega, v * omega, v, omega, 1.0])
        choices = [(HOLDING, 1, -1) if mode == HOLDING else (mode,) for mode in modes]
        for candidate in map(list, product(*choices)):
            dynamics = self.dynamics(torque, candidate)
            wheel_acceleration = self._wheels @ (np.array(dynamics.acceleration) @ basis)
            friction = np.abs(np.array(dynamics.holding) @ basis)
            if all(
                friction[i] <= self.coulomb[i] * (1.0 + ROUNDING)
                if candidate[i] == HOLDING
                else candidate[i] * wheel_acceleration[i] > 0.0
                for i in range(2)
                if modes[i] == HOLDING
            ):
                return candidate
        return list(modes)  # only rounding on the limit of holding leads here


class IdealSimulator:
    """Closed-form model of a robot with friction of its wheels; see Simulator for the interface.

    Args:
        robot: its URDF gives K5..K8 (REFERENCE equations in diffbot_description.closed_form), its
            friction the viscous and Coulomb friction of the wheels.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._bare = robot.model
        self._radius = self._bare.wheel_radius
        self._half_track = self._bare.half_track
        self._load(self._bare)
        self.paused = False
        self.reset()

    def reset(self, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        """See Simulator.reset."""
        self._x, self._y, self._theta = check_pose(pose)
        self.time = 0.0
        self._v = self._omega = 0.0
        self._angles = [0.0, 0.0]
        # A wheel without Coulomb friction never holds; its direction is of no effect.
        self._modes = [HOLDING if limit > 0.0 else 1 for limit in self._friction.coulomb]

    def step(self, torque: tuple[float, float], duration: float) -> None:
        """See Simulator.step."""
        torque = check_torque(torque)
        remaining = check_duration(duration)
        self._modes = self._friction.choose_modes(self._v, self._omega, torque, self._modes)
        for _ in range(MOST_PIECES):
            dynamics = self._friction.dynamics(torque, self._modes)
            series = motion_series(self._v, self._omega, self._theta, dynamics.acceleration)
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

    def wheel_angles(self) -> tuple[float, float]:
        """See Simulator.wheel_angles."""
        return self._angles[0], self._angles[1]

    def wheel_velocities(self) -> tuple[float, float]:
        """See Simulator.wheel_velocities; exactly 0 for a wheel that holds."""
        turn = self._half_track * self._omega
        left, right = self._modes
        return (
            0.0 if left == HOLDING else (self._v - turn) / self._radius,
            0.0 if right == HOLDING else (self._v + turn) / self._radius,
        )

    def pose(self) -> tuple[float, float, float]:
        """See Simulator.pose."""
        return self._x, self._y, self._theta

    def velocity(self) -> tuple[float, float]:
        """See Simulator.velocity."""
        return self._v, self._omega

    def parameters(self) -> DynamicParameters:
        """See Simulator.parameters."""
        return self._friction.parameters

    def close(self) -> None:
        """See Simulator.close."""

    def set_payload(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        """See Simulator.set_payload."""
        check_payload(mass, x, z, yaw_inertia)
        self._load(self._bare.with_payload(mass, x, yaw_inertia))

    def _load(self, model: RobotModel) -> None:
        friction = self._robot.friction
        self._friction = WheelFriction(
            closed_form(model), self._radius, self._half_track, friction.viscous, friction.coulomb
        )

    def _next_event(
        self, series: MotionSeries, dynamics: PlanarDynamics, end: float
    ) -> tuple[float, int | None]:
        """Time (s) and wheel of the first stop or release up to end; (end, None) without one."""
        event = None
        for wheel, (mode, limit) in enumerate(
            zip(self._modes, self._friction.coulomb, strict=True)
        ):
            if limit == 0.0:
                continue
            row = dynamics.holding[wheel] if mode == HOLDING else self._friction.wheel_speed[wheel]
            sizes = series.magnitude(row)
            if mode == HOLDING:
                friction = series.combine(row)
                margins = [[-f for f in friction], friction]
                for margin in margins:
                    margin[0] += limit
                sizes[0] += limit
            else:
                margins = [[mode * term for term in series.combine(row)]]
            for margin in margins:
                time = _end_of_margin(margin, sizes, end)
                if time is not None:
                    end, event = time, wheel
        return end, event

    def _advance(self, series: MotionSeries, time: float) -> None:
        """Move the state along the series."""
        path, turn = evaluate(series.path, time), evaluate(series.theta, time)
        self._x += evaluate(series.x, time)
        self._y += evaluate(series.y, time)
        self._theta += turn
        for wheel, side in enumerate((-1.0, 1.0)):
            if self._modes[wheel] != HOLDING:
                self._angles[wheel] += (path + side * self._half_track * turn) / self._radius
        self._v, self._omega = evaluate(series.v, time), evaluate(series.omega, time)
        self._rest_holding_wheels()

    def _change_mode(
        self, wheel: int, friction: list[float], time: float, torque: tuple[float, float]
    ) -> None:
        """Stop a turning wheel, or let go of one whose holding friction (N m) was exceeded."""
        if self._modes[wheel] == HOLDING:
            # The wheel gives way against its friction.
            self._modes[wheel] = -1 if evaluate(friction, time) > 0.0 else 1
            return
        self._modes[wheel] = HOLDING
        self._rest_holding_wheels()
        self._modes = self._friction.choose_modes(self._v, self._omega, torque, self._modes)

    def _rest_holding_wheels(self) -> None:
        """Take rounding out of the speeds of wheels at rest; the other wheel keeps its speed."""
        left, right = (mode == HOLDING for mode in self._modes)
        b = self._half_track
        if left and right:
            self._v = self._omega = 0.0
        elif left:
            self._v = 0.5 * (self._v + b * self._omega)
            self._omega = self._v / b
        elif right:
            self._v = 0.5 * (self._v - b * self._omega)
            self._omega = -self._v / b


def _end_of_margin(margin: list[float], sizes: list[float], end: float) -> float | None:
    """First time in [0, end] at which a margin that starts at or above zero leaves it, or None."""
    for k, (term, size) in enumerate(zip(margin, sizes, strict=True)):
        if abs(term) > ROUNDING * size:
            return 0.0 if term < 0.0 else first_root(margin[k:], end)
    return None
