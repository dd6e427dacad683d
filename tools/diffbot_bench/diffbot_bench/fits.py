# SPDX-License-Identifier: Apache-2.0
"""Peers that fit a simulation to a record, by SciPy's least_squares, with its usual intervals."""

from __future__ import annotations

import math

import numpy as np
import scipy

from diffbot_bench.independent_plant import Array
from diffbot_bench.regressions import STEP, axes_of, ols_friction
from diffbot_bench.suite_estimators import Entry
from diffbot_bench.tasks import NAMES_K, Record
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.all_pole_filter import after_one_sample

# Step of the simulation, s, and its largest speed, m/s and rad/s.
FINE, FASTEST = 0.01, 1e3
# Width of the sign change of Coulomb friction, rad/s: a fit needs derivatives.
SOFT = 0.1


def velocities(record: Record) -> dict[str, Entry]:
    """Fit of simulated to measured velocities: K5..K8, viscous and Coulomb friction."""
    return _fitted(record, positions=False)


def positions(record: Record) -> dict[str, Entry]:
    """Fit of simulated to measured wheel angles: K5..K8, viscous and Coulomb friction."""
    return _fitted(record, positions=True)


def _fitted(record: Record, positions: bool) -> dict[str, Entry]:
    assert record.wheel_radius is not None and record.track is not None
    columns, radius, half = record.columns, record.wheel_radius, 0.5 * record.track
    time = np.arange(columns["time"][0], columns["time"][-1], FINE)
    angles = np.array([
        np.interp(time, columns["time"], columns[f"{side}_position"]) for side in ("left", "right")
    ])  # fmt: skip
    # An effort acted over the period before its stamp.
    acting = np.searchsorted(columns["time"], time[:-1] + 0.5 * FINE)
    efforts = np.array([columns[f"{side}_effort"][acting] for side in ("left", "right")])
    speeds = np.diff(angles, axis=1) / FINE
    measured = angles[:, 1:] - angles[:, :1] if positions else speeds
    scales = _scales(record, efforts, speeds)

    def residuals(parameters: Array) -> Array:
        moved = _simulated((parameters * scales).tolist(), efforts.T.tolist(), radius, half)
        return np.asarray(
            (FINE * np.cumsum(moved, axis=1) if positions else moved) - measured
        ).ravel()

    begin = np.array((1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1))
    result = scipy.optimize.least_squares(residuals, begin, method="lm", max_nfev=200)
    variance = 2.0 * result.cost / (len(result.fun) - len(begin))
    half_widths = NORMAL_95 * np.sqrt(variance * np.diag(np.linalg.pinv(result.jac.T @ result.jac)))
    return {
        name: (
            float(result.x[k] * scales[k]),
            float(result.x[k] * scales[k] - half_widths[k] * abs(scales[k])),
            float(result.x[k] * scales[k] + half_widths[k] * abs(scales[k])),
        )
        for k, name in enumerate(NAMES_K)
    }


def _scales(record: Record, torques: Array, speeds: Array) -> Array:
    """Return typical values of the parameters: those of least squares, and of the torques."""
    first = ols_friction(record)
    k = [entry[0] if isinstance(entry := first[name], tuple) else entry for name in NAMES_K]
    torque, speed = float(np.abs(torques).max()), float(np.abs(speeds).max())
    return np.array([*k, torque / speed, torque / speed, torque, torque])


def _simulated(own: list[float], torques: list[list[float]], radius: float, half: float) -> Array:
    """Return the mean wheel speeds of each step, rad/s, (2, n), from rest, by the midpoint rule."""
    k5, k6, k7, k8, viscous_left, viscous_right, dry_left, dry_right = own
    v = omega = 0.0
    speeds = []

    def rates(v: float, omega: float, torque: list[float]) -> tuple[float, float]:
        left, right = (v - half * omega) / radius, (v + half * omega) / radius
        left = torque[0] - viscous_left * left - dry_left * math.tanh(left / SOFT)
        right = torque[1] - viscous_right * right - dry_right * math.tanh(right / SOFT)
        return k5 * omega * omega + k7 * (left + right), k6 * v * omega + k8 * (left - right)

    for torque in torques:
        dv, domega = rates(v, omega, torque)
        v_mid, omega_mid = v + 0.5 * FINE * dv, omega + 0.5 * FINE * domega
        dv, domega = rates(v_mid, omega_mid, torque)
        speeds.append(((v_mid - half * omega_mid) / radius, (v_mid + half * omega_mid) / radius))
        # A search that has gone astray must not overflow.
        v = min(max(v + FINE * dv, -FASTEST), FASTEST)
        omega = min(max(omega + FINE * domega, -FASTEST), FASTEST)
    return np.array(speeds).T


def first_order(record: Record) -> dict[str, Entry]:
    """Fit of a first-order lag with dead time and gain to the speeds of each axis."""
    entries: dict[str, Entry] = {}
    for axis, u, y in axes_of(record):
        time: Array = np.asarray(np.arange(len(u)) * STEP, dtype=np.float64)

        def residuals(parameters: Array, u: Array = u, y: Array = y, time: Array = time) -> Array:
            lag, gain, late = np.exp(parameters[0]), parameters[1], parameters[2]
            delayed = np.interp(time - late, time, u)
            return _lagged(gain * delayed, float(lag)) - y

        result = scipy.optimize.least_squares(
            residuals, (np.log(0.3), 1.0, 0.1), bounds=((-5.0, 0.0, 0.0), (2.0, 5.0, 1.0))
        )
        variance = 2.0 * result.cost / (len(result.fun) - 3)
        half = NORMAL_95 * np.sqrt(variance * np.diag(np.linalg.pinv(result.jac.T @ result.jac)))
        lag, gain, late = np.exp(result.x[0]), result.x[1], result.x[2]
        for name, value, width in (
            ("time_constant", lag, half[0] * lag),
            ("gain", gain, half[1]),
            ("dead_time", late, half[2]),
        ):
            entries[f"{name}_{axis}"] = (
                float(value), float(value - width), float(value + width),
            )  # fmt: skip
    return entries


def _lagged(target: Array, lag: float) -> Array:
    """Return the answer of a first-order lag, s, to a target every STEP."""
    decay = np.exp(-STEP / lag)
    return after_one_sample(decay, (1.0 - decay) * target)
