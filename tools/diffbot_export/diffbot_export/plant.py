# SPDX-License-Identifier: Apache-2.0
"""The identified robot for its wheel loops: effort of each wheel in, wheel speeds out.

With c = (right + left) / 2 and d = (right - left) / 2, equal gains on both wheels are equal gains
on two axes that are coupled only through the centre of mass:

    J_c w_c' = T_c - D_c w_c        v     = r w_c          T = e - viscous w - dry sign(w)
    J_d w_d' = T_d - D_d w_d        omega = r w_d / b

e is a torque (N m), a voltage (V) or a commanded wheel speed (rad/s):

    torque      J_c = r / (2 K7), J_d = r / (2 b |K8|); friction of each wheel; K5, K6 couple;
                a resistance c_w omega + f_w against turning: D_d = r^2 c_w / (2 b^2), scrub
                r f_w / (2 b)
    voltage     J_c = r ka, D_c = r kv of forward; J_d = r ka / b, D_d = r kv / b of yaw; dry: ks
    velocity    J_c = sigma1, D_c = sigma3, J_d = sigma2, D_d = sigma4; dead bands of the commands
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arc_odometry import WheelGeometry
from arc_odometry.number_range import within

Pair = tuple[float, float]
# Speed over which dry friction changes sign, over the largest reference: from rest, and turning.
SOFT, TURNING = 0.01, 0.05
# Integration steps in a period, and largest step as a share of the smallest time constant.
STEPS, LARGEST_STEP = 4, 0.5


@dataclass(frozen=True)
class Plant:
    """A robot with two driven wheels; pairs of wheels are [left, right], those of axes [c, d].

    Attributes:
        inertia: J of the axes, effort per rad/s^2, > 0.
        drag: D of the axes, effort per rad/s, >= 0.
        delay: Of the axes, s, >= 0.
        viscous, dry: Friction of the wheels, effort per rad/s, and effort.
        scrub: Dry friction of axis d against turning, effort.
        band: Dead band of the axes' efforts, effort, which is subtracted.
        coupling: K5 in m and K6 in 1/m.
    """

    geometry: WheelGeometry
    inertia: Pair
    drag: Pair = (0.0, 0.0)
    delay: Pair = (0.0, 0.0)
    viscous: Pair = (0.0, 0.0)
    dry: Pair = (0.0, 0.0)
    scrub: float = 0.0
    band: Pair = (0.0, 0.0)
    coupling: Pair = (0.0, 0.0)

    @property
    def radius(self) -> float:
        """Mean radius, m."""
        return 0.5 * (self.geometry.left_radius + self.geometry.right_radius)

    @property
    def total_drag(self) -> Pair:
        """D of the axes with the wheels' viscous friction, effort per rad/s."""
        viscous = 0.5 * (self.viscous[0] + self.viscous[1])
        return self.drag[0] + viscous, self.drag[1] + viscous

    @property
    def axis_ratio(self) -> Pair:
        """Body velocity per wheel speed of the axes: r in m, r / b in 1."""
        return self.radius, self.radius / self.geometry.half_track

    def accelerations(self, soft: float) -> Callable[[float, float, float, float], Pair]:
        """Return a function of wheel speeds (left, right), rad/s, and efforts that act on (c, d).

        It returns the wheel accelerations (left, right), rad/s^2; dry friction changes sign over
        `soft`. A table of bends calls it a million times: what is 0 is left out.
        """
        (viscous_left, viscous_right), (dry_left, dry_right) = self.viscous, self.dry
        (inertia_c, inertia_d), (drag_c, drag_d) = self.inertia, self.drag
        (ratio_v, ratio_w), (k5, k6), scrub = self.axis_ratio, self.coupling, self.scrub
        dry, coupled, tanh = bool(dry_left or dry_right), bool(k5 or k6), math.tanh

        def of(left: float, right: float, effort_c: float, effort_d: float) -> Pair:
            f_left, f_right = viscous_left * left, viscous_right * right
            if dry:
                f_left += dry_left * tanh(left / soft)
                f_right += dry_right * tanh(right / soft)
            w_c, w_d = 0.5 * (right + left), 0.5 * (right - left)
            drive_d = effort_d - 0.5 * (f_right - f_left) - drag_d * w_d
            if scrub:
                drive_d -= scrub * tanh(w_d / soft)
            a_c = (effort_c - 0.5 * (f_right + f_left) - drag_c * w_c) / inertia_c
            a_d = drive_d / inertia_d
            if coupled:
                v, omega = ratio_v * w_c, ratio_w * w_d
                a_c += k5 * omega * omega / ratio_v
                a_d += k6 * v * omega / ratio_w
            return a_c - a_d, a_c + a_d

        return of

    def linear_step(self, step: float) -> tuple[Pair, Pair] | None:
        """Return (p, q) of the axes; None: their accelerations are not linear, or coupled.

        A step of the midpoint rule, s, takes an axis's wheel speed w to p w + q effort.
        """
        if any(self.dry) or any(self.coupling) or self.scrub or len({*self.viscous}) > 1:
            return None
        (drag_c, drag_d), (inertia_c, inertia_d) = self.total_drag, self.inertia
        return _midpoint(drag_c, inertia_c, step), _midpoint(drag_d, inertia_d, step)

    def steps(self, period: float, soft: float) -> int:
        """Return the number of integration steps in a period, s."""
        fastest = max(
            (drag + (max(self.dry) + scrub) / soft) / inertia
            for inertia, drag, scrub in zip(
                self.inertia, self.total_drag, (0.0, self.scrub), strict=True
            )
        )
        return max(STEPS, math.ceil(period * fastest / LARGEST_STEP))


def _midpoint(drag: float, inertia: float, step: float) -> Pair:
    half = 1.0 - 0.5 * step * drag / inertia
    return 1.0 - step * drag / inertia * half, step / inertia * half


def _after_dead_band(effort: float, band: float) -> float:
    if band == 0.0:
        return effort
    return math.copysign(max(abs(effort) - band, 0.0), effort)


@dataclass(frozen=True)
class Pid:
    """pid_controller of one wheel, as control_toolbox 4.11, 5.10 and 6.3 compute it.

    The output is feedforward * reference + clamp(p error + I). Then I grows by period * i * error,
    but not further into the clamp.
    """

    p: float
    i: float
    feedforward: float = 0.0
    clamp: float = math.inf

    def start(self, integral: float = 0.0) -> Callable[[float, float, float], float]:
        """Return a controller with this integral: a function of (reference, measured, period)."""

        def update(reference: float, measured: float, period: float) -> float:
            nonlocal integral
            error = reference - measured
            wanted = self.p * error + integral
            given = within(wanted, self.clamp)
            if given == wanted or error * wanted <= 0.0:
                integral += period * self.i * error
            return self.feedforward * reference + given

        return update


class WheelLoops:
    """Simulation of a plant with its wheel loops, period by period, from rest.

    The measured wheel speed is the mean over the last period, as of encoders.

    Args:
        pid: Controller of both wheels; None: efforts are the references themselves.
        period: Of the loops, s.
        fastest: Largest reference of a wheel speed, rad/s, > 0.
        soft: Speed over which dry friction changes its sign, as a share of `fastest`.

    Attributes:
        speed: Of the wheels (left, right), rad/s.
        steps: Integration steps in a period.
    """

    def __init__(
        self,
        plant: Plant,
        pid: Pid | None,
        period: float,
        fastest: float,
        soft: float = SOFT,
    ) -> None:
        self._plant = plant
        self._pid = pid
        self._controllers = None if pid is None else (pid.start(), pid.start())
        self._period = period
        self._soft = soft * fastest
        self.steps = plant.steps(period, self._soft)
        self._step = period / self.steps
        # Delayed efforts of the axes after their dead bands: one entry per integration step.
        lags = [round(delay / self._step) for delay in plant.delay]
        self._delayed = tuple(deque([0.0] * lag) for lag in lags)
        self._accelerations = plant.accelerations(self._soft)
        self._linear = plant.linear_step(self._step)
        self.speed = (0.0, 0.0)
        self._measured = (0.0, 0.0)

    def cruise(self, speed: float) -> None:
        """Set the state of steady straight driving at a reference of both wheels > 0, rad/s."""
        plant = self._plant
        if self._pid is None:
            efforts = (speed, speed)
            reached = max(speed - plant.band[0], 0.0) / plant.total_drag[0]
        else:
            pid, reached = self._pid, speed
            left, right = (
                (plant.drag[0] + viscous) * speed + dry
                for viscous, dry in zip(plant.viscous, plant.dry, strict=True)
            )
            efforts = (left, right)
            self._controllers = (
                pid.start(left - pid.feedforward * speed),
                pid.start(right - pid.feedforward * speed),
            )
        given = self._given(*efforts)
        self._delayed = tuple(
            deque([effort] * len(line)) for line, effort in zip(self._delayed, given, strict=True)
        )
        self.speed = self._measured = (reached, reached)

    def _given(self, left: float, right: float) -> Pair:
        """Return what the dead bands leave of efforts of the wheels, for the axes."""
        band_c, band_d = self._plant.band
        return (
            _after_dead_band(0.5 * (right + left), band_c),
            _after_dead_band(0.5 * (right - left), band_d),
        )

    def advance(self, reference: Pair) -> list[Pair]:
        """Advance by a period; return the wheel speeds after each integration step, rad/s."""
        left, right = reference
        if self._controllers is not None:
            left, right = (
                update(wanted, measured, self._period)
                for update, wanted, measured in zip(
                    self._controllers, reference, self._measured, strict=True
                )
            )
        given_c, given_d = self._given(left, right)
        line_c, line_d = self._delayed
        of, h, linear = self._accelerations, self._step, self._linear
        path = []
        turned_left = turned_right = 0.0
        left, right = self.speed
        for _ in range(self.steps):
            line_c.append(given_c)
            line_d.append(given_d)
            acting_c, acting_d = line_c.popleft(), line_d.popleft()
            before_left, before_right = left, right
            if linear is not None:
                (p_c, q_c), (p_d, q_d) = linear
                w_c = p_c * 0.5 * (right + left) + q_c * acting_c
                w_d = p_d * 0.5 * (right - left) + q_d * acting_d
                left, right = w_c - w_d, w_c + w_d
            else:
                # By the midpoint rule.
                a_left, a_right = of(left, right, acting_c, acting_d)
                a_left, a_right = of(
                    left + 0.5 * h * a_left, right + 0.5 * h * a_right, acting_c, acting_d
                )
                left, right = left + h * a_left, right + h * a_right
            turned_left += 0.5 * (before_left + left) * h
            turned_right += 0.5 * (before_right + right) * h
            path.append((left, right))
        self.speed = (left, right)
        self._measured = (turned_left / self._period, turned_right / self._period)
        return path


@dataclass(frozen=True)
class StepResponse:
    """Response of an axis to a step of its reference.

    Attributes:
        settling: From when the speed stays within BAND of the step, s; infinite: never.
        overshoot: Largest excess, as a share of the step.
    """

    settling: float
    overshoot: float


BAND = 0.05  # as a share of the step


def step_response(values: Sequence[float], interval: float) -> StepResponse:
    """Return settling time and overshoot of a response to a step of 1, every `interval`, s."""
    outside = [index for index, value in enumerate(values) if abs(value - 1.0) > BAND]
    if not outside:
        settling = interval
    elif outside[-1] == len(values) - 1:
        settling = math.inf
    else:
        settling = (outside[-1] + 2) * interval
    return StepResponse(settling, max(max(values) - 1.0, 0.0))


def predicted_step(
    plant: Plant, pid: Pid, period: float, axis: int, speed: float, duration: float
) -> StepResponse:
    """Predict the response of a robot at rest to a step of both wheels' references.

    Args:
        axis: 0: both wheels forward; 1: turning on the spot.
        speed: Reference of the wheel speeds, rad/s.
        duration: s.
    """
    loops = WheelLoops(plant, pid, period, speed)
    reference = (speed if axis == 0 else -speed, speed)
    values = []
    for _ in range(math.ceil(duration / period)):
        for left, right in loops.advance(reference):
            values.append(0.5 * (right + left if axis == 0 else right - left) / speed)
    return step_response(values, period / loops.steps)
