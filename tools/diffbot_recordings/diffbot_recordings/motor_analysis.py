# SPDX-License-Identifier: Apache-2.0
"""Identify motors from voltage and current, and find faults.

    V = R (i - i_0) + Ke w,    Ke (i - i_0) = J dw/dt + b w + c sign(w)

See docs/theory/recordings.md#motors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from diffbot_recordings.all_pole_filter import all_pole
from diffbot_recordings.correlated_residuals import correlated_covariance
from diffbot_recordings.samples import SIDES, Array
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Evidence, Value

# Time constants of the instruments' filters, and windows of the second equation, s.
FILTERS, WINDOW = (0.003, 0.01, 0.03, 0.1), 0.01
# Least share of the voltage's variance that a sound wheel explains.
LEAST_R_SQUARED = 0.8
# Share that the other wheel's signals explain more if motors are swapped.
SWAPPED_GAIN = 0.3
# Least share of a sensor's variance that voltages explain.
SILENT = 0.15
# Ratios from which wheels differ, and how many standard deviations it takes.
RATIO, FRICTION_RATIO, SIGNIFICANT_SIGMAS = 1.5, 1.8, 3.0
# Least numbers of samples and windows; share of a window in which a wheel may stand.
LEAST_SAMPLES, LEAST_WINDOWS, STANDING = 100, 12, 0.2


@dataclass(frozen=True)
class MotorAnalysis:
    """Result of one wheel: verdict, measured voltage and R (i - i_0) + Ke w, shape (n,), V."""

    verdict: AnalysisVerdict
    voltage: Array
    predicted: Array


@dataclass(frozen=True)
class _Coefficients:
    values: Array
    covariance: Array
    predicted: Array
    explained: float

    @property
    def std(self) -> Array:
        return np.sqrt(np.diag(self.covariance))


def analyse_motors(
    segments: Sequence[tuple[float, Mapping[str, Array]]],
) -> list[MotorAnalysis]:
    """Analyse the motors of both wheels; ValueError for too few samples.

    Args:
        segments: Period, s, and values by channel (left_voltage, left_current, left_velocity, …),
            shape (n,), V, A and rad/s.
    """
    count = sum(len(channels["left_voltage"]) for _, channels in segments)
    if count < LEAST_SAMPLES:
        raise ValueError(f"{count} samples: must be at least {LEAST_SAMPLES}; record for longer")
    electrical = {side: _electrical(segments, side, side) for side in SIDES}
    mechanical = {side: _mechanical(segments, side, electrical[side]) for side in SIDES}
    problem = _problem(segments, electrical, mechanical)
    motor_analysis = []
    for side in SIDES:
        voltage = np.concatenate([channels[f"{side}_voltage"] for _, channels in segments])
        verdict = _verdict(side, electrical[side], mechanical[side], problem)
        motor_analysis.append(MotorAnalysis(verdict, voltage, electrical[side].predicted))
    return motor_analysis


def _verdict(
    side: str, electrical: _Coefficients, mechanical: _Coefficients, problem: str | None
) -> AnalysisVerdict:
    resistance, constant, _ = electrical.values.tolist()
    stds = electrical.std
    values = (
        Value("R", resistance, float(stds[0]), "ohm"),
        Value("Ke", constant, float(stds[1]), "V s/rad"),
        *(
            Value(name, float(value), float(std), unit)
            for name, unit, value, std in zip(
                ("inertia", "viscous friction", "Coulomb friction"),
                ("kg m^2", "N m s/rad", "N m"),
                mechanical.values,
                mechanical.std,
                strict=True,
            )
        ),
    )
    fraction = electrical.explained
    evidence = (
        Evidence(
            "share of the voltage that current and speed explain",
            fraction,
            f">= {LEAST_R_SQUARED:g}",
            fraction >= LEAST_R_SQUARED,
        ),
        Evidence("R", resistance, "> 0", resistance > 0.0),
        Evidence("Ke", constant, "> 0", constant > 0.0),
    )
    verdict = AnalysisVerdict(
        f"{side} motor", values=values, evidence=evidence, r_squared_fit=fraction, error_unit="V"
    ).judged("not a motor with these signals: ", "", "", "drive more steps of the voltage")
    if problem is not None:
        return AnalysisVerdict(
            verdict.subject, AnalysisOutcome.REFUSED, problem, values, fraction, evidence=evidence
        )
    return verdict


def _electrical(
    segments: Sequence[tuple[float, Mapping[str, Array]]], driven: str, sensed: str
) -> _Coefficients:
    """Fit [R, Ke, -R i_0] to one side's voltage by current and speed of the same or other side."""
    parts = []
    for period, channels in segments:
        voltage = channels[f"{driven}_voltage"]
        x = np.column_stack(
            (
                channels[f"{sensed}_current"],
                channels[f"{sensed}_velocity"],
                np.ones_like(voltage),
            )
        )
        parts.append((voltage, x, _instruments(voltage, period)))
    return _two_stage(parts)


def _mechanical(
    segments: Sequence[tuple[float, Mapping[str, Array]]], side: str, electrical: _Coefficients
) -> _Coefficients:
    """Fit [J, b, c] to integrals over windows."""
    resistance, constant, shift = electrical.values.tolist()
    offset = -shift / resistance if resistance else 0.0
    parts = []
    for period, channels in segments:
        width = max(round(WINDOW / period), 2)
        speed = channels[f"{side}_velocity"]
        if len(speed) < 3 * width:
            continue
        torque = constant * (channels[f"{side}_current"] - offset)
        columns = np.column_stack((torque, speed, np.sign(speed)))
        sums = np.vstack(
            (np.zeros(3), scipy.integrate.cumulative_trapezoid(columns, dx=period, axis=0))
        )
        starts = np.arange(0, len(speed) - width, width)
        # Friction at rest may be anything up to c.
        rest = np.concatenate(([0], np.cumsum(speed == 0.0)))
        starts = starts[rest[starts + width] - rest[starts] <= STANDING * width]
        if not len(starts):
            continue
        integral = sums[starts + width] - sums[starts]
        change = speed[starts + width] - speed[starts]
        # The trapezoidal rule smears a step of the current.
        voltage = channels[f"{side}_voltage"]
        smeared = period * (voltage[starts + width] - voltage[starts])
        x = np.column_stack((change, integral[:, 1], integral[:, 2], smeared))
        z = _instruments(channels[f"{side}_voltage"], period)
        z_sums = np.vstack((np.zeros(z.shape[1]), np.cumsum(z, axis=0) * period))
        z_window = z_sums[starts + width] - z_sums[starts]
        z_change = z[starts + width] - z[starts]
        parts.append((integral[:, 0], x, np.column_stack((z_window, z_change[:, 1:]))))
    if sum(len(part[0]) for part in parts) < LEAST_WINDOWS:
        unknown = np.full(3, math.nan)
        return _Coefficients(unknown, np.diag(np.full(3, math.inf)), np.empty(0), math.nan)
    coefficients = _two_stage(parts)
    coefficients = replace(
        coefficients, values=coefficients.values[:3], covariance=coefficients.covariance[:3, :3]
    )
    # All three are proportional to Ke, whose uncertainty they share.
    own = float(electrical.std[1]) / constant if constant else math.inf
    if not math.isfinite(own):
        return replace(coefficients, covariance=np.diag(np.full(3, math.inf)))
    return replace(
        coefficients,
        covariance=coefficients.covariance
        + own**2 * np.outer(coefficients.values, coefficients.values),
    )


def _instruments(voltage: Array, period: float) -> Array:
    """Return the instruments, shape (n, m): 1, the voltage, it and its sign filtered, and signs."""
    columns = [np.ones_like(voltage), voltage]
    for tau in FILTERS:
        a = math.exp(-period / tau)
        for signal in (voltage, np.sign(voltage)):
            columns.append(all_pole((1.0, -a), (1.0 - a) * signal))
    # The sign of the speed follows that of the filtered voltage.
    columns += [np.sign(columns[k]) for k in (4, 6, 8)]
    return np.column_stack(columns)


def _two_stage(parts: Sequence[tuple[Array, Array, Array]]) -> _Coefficients:
    """Solve y = x c with instruments z, for parts [(y, x, z), …]."""
    y, x, z = (np.concatenate([part[i] for part in parts]) for i in range(3))
    scale = np.linalg.norm(z, axis=0)
    z = z[:, scale > 0.0] / scale[scale > 0.0]
    projected = z @ np.linalg.lstsq(z, x, rcond=1e-9)[0]
    values = np.linalg.lstsq(projected, y, rcond=1e-12)[0]
    residuals = y - x @ values
    covariance = correlated_covariance(projected, residuals, [len(part[0]) for part in parts])
    total = float(np.sum((y - y.mean()) ** 2))
    # Only what the instruments explain of the residuals counts.
    seen = z @ np.linalg.lstsq(z, residuals, rcond=1e-9)[0]
    fraction = 1.0 - float(seen @ seen) / total if total > 0.0 else math.nan
    return _Coefficients(values, covariance, x @ values, fraction)


def _problem(
    segments: Sequence[tuple[float, Mapping[str, Array]]],
    electrical: Mapping[str, _Coefficients],
    mechanical: Mapping[str, _Coefficients],
) -> str | None:
    for side in SIDES:
        for kind, what in (("current", "current sensor"), ("velocity", "encoder")):
            if _silent(segments, side, kind):
                return (
                    f"the {side} {what} does not react to the voltages: check its cable and channel"
                )
    crossed = [_electrical(segments, a, b) for a, b in (SIDES, SIDES[::-1])]
    pairs = [(other, electrical[side]) for other, side in zip(crossed, SIDES, strict=True)]
    if all(map(_plausible, crossed)) and (
        all(other.explained > own.explained + SWAPPED_GAIN for other, own in pairs)
        or not any(_plausible(own) for _, own in pairs)
    ):
        return "the motors are swapped: the left voltage drives the right wheel, and the reverse"
    for side in SIDES:
        resistance, constant, _ = electrical[side].values.tolist()
        wrong = [
            text
            for value, text in (
                (resistance, "current (or of the voltage, and of the speed, too)"),
                (constant, "speed (or of the voltage, and of the current, too)"),
            )
            if value < 0.0
        ]
        if len(wrong) == 2:
            return f"the sign of the {side} voltage is flipped"
        if wrong:
            return f"the sign of the {side} {wrong[0]} is flipped"
    return _unlike(electrical, mechanical)


def _silent(segments: Sequence[tuple[float, Mapping[str, Array]]], side: str, kind: str) -> bool:
    read, z = [], []
    for period, channels in segments:
        # Voltages of both wheels, as the motors may be swapped.
        read.append(channels[f"{side}_{kind}"])
        z.append(np.column_stack([_instruments(channels[f"{s}_voltage"], period) for s in SIDES]))
    y, x = np.concatenate(read), np.concatenate(z)
    y = y - y.mean()
    total = float(y @ y)
    if total == 0.0:
        return True
    seen = x @ np.linalg.lstsq(x, y, rcond=1e-9)[0]
    return float(seen @ seen) / total < SILENT


def _plausible(coefficients: _Coefficients) -> bool:
    return bool(coefficients.explained >= LEAST_R_SQUARED and (coefficients.values[:2] > 0.0).all())


def _unlike(
    electrical: Mapping[str, _Coefficients], mechanical: Mapping[str, _Coefficients]
) -> str | None:
    def ratio(results: Mapping[str, _Coefficients], i: int) -> tuple[float, float]:
        left, right = (results[side].values[i] for side in SIDES)
        stds = [results[side].std[i] / abs(results[side].values[i]) for side in SIDES]
        if not (left > 0.0 and right > 0.0):
            return 0.0, math.inf
        return math.log(left / right), math.hypot(*stds)

    def differs(size: tuple[float, float], least: float) -> bool:
        return abs(size[0]) > math.log(least) and abs(size[0]) > SIGNIFICANT_SIGMAS * size[1]

    def larger(size: tuple[float, float]) -> tuple[str, str]:
        return SIDES[0 if size[0] > 0.0 else 1], f"{math.exp(abs(size[0])):.2g} times the"

    resistance, constant = ratio(electrical, 0), ratio(electrical, 1)
    inertia, friction = ratio(mechanical, 0), ratio(mechanical, 2)
    # A sensor that reads half of the current makes R twice and J half as large.
    if differs(resistance, RATIO) and resistance[0] * inertia[0] < 0.0:
        side, other = SIDES if resistance[0] > 0.0 else SIDES[::-1]
        fraction = math.exp(-0.5 * (abs(resistance[0]) + abs(inertia[0])))
        return (
            f"the {side} current sensor reads {fraction:.2g} of the current, if the {other} one is "
            "right: check its scale"
        )
    if differs(constant, RATIO):
        side, fraction = larger(constant)[0], math.exp(-abs(constant[0]))
        return f"the {side} encoder reads {fraction:.2g} of the speed: check its counts and gear"
    if differs(resistance, RATIO):
        side, times = larger(resistance)
        return (
            f"the {side} motor has {times} resistance of the other: check its cable and connector"
        )
    if differs(friction, FRICTION_RATIO):
        side, times = larger(friction)
        return (
            f"the {side} wheel has {times} friction of the other: check its bearing and brake, and "
            "that nothing rubs on it"
        )
    return None
