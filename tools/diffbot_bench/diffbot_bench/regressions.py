# SPDX-License-Identifier: Apache-2.0
"""Peers that are linear regressions of accelerations: by NumPy, and by libraries if installed.

From angles come v and omega over each step, their differences are accelerations, and (41) of Lages
(2017) is linear in K5..K8:

    dv/dt = K5 omega^2 + K7 (tau_l + tau_r),   domega/dt = K6 v omega + K8 (tau_l - tau_r)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise

import numpy as np

from diffbot_bench.independent_plant import Array
from diffbot_bench.suite_estimators import Entry
from diffbot_bench.tasks import Record, even
from diffbot_description.command_kind import CommandKind
from diffbot_ident.estimate import NORMAL_95

# Step of resampled velocity records, s.
STEP = 0.02
# Step over which speeds are computed where a peer smooths, s.
SMOOTH = 0.04


@dataclass(frozen=True)
class Rows:
    """Regressions of one record; the columns of `linear` and `angular` begin with those of (41).

    Attributes:
        linear, angular: Regressors, (n, k), and accelerations, (n,).
        speeds: Wheel speeds [left, right], rad/s, (n, 2).
    """

    linear: tuple[Array, Array]
    angular: tuple[Array, Array]
    speeds: Array

    def with_friction(self) -> Rows:
        """Return the rows with viscous and Coulomb friction of each wheel."""
        rub = np.column_stack((self.speeds, np.sign(self.speeds)))
        (x, y), (z, w) = self.linear, self.angular
        return Rows((np.column_stack((x, rub)), y), (np.column_stack((z, rub)), w), self.speeds)


def rows_of(record: Record, step: float = 0.0) -> Rows:
    """Return the regressions of a torque record, over steps of at least `step` s."""
    columns = record.columns
    assert record.wheel_radius is not None and record.track is not None
    time = columns["time"]
    every = max(1, round(step / float(np.median(np.diff(time)))))
    kept = np.arange(0, len(time), every)
    # A stamp that repeats another one gives no speed.
    kept = kept[np.diff(time[kept], prepend=-np.inf) > 0.0]
    angles, impulses = (
        np.column_stack([columns[f"{side}_{name}"] for side in ("left", "right")])
        for name in ("position", "effort")
    )
    impulses = np.cumsum(impulses * np.diff(time, prepend=time[0])[:, None], axis=0)
    periods = np.diff(time[kept])
    speeds = np.diff(angles[kept], axis=0) / periods[:, None]
    torques = np.diff(impulses[kept], axis=0) / periods[:, None]
    between = 0.5 * (periods[1:] + periods[:-1])
    v = record.wheel_radius * speeds.mean(axis=1)
    omega = record.wheel_radius * (speeds[:, 1] - speeds[:, 0]) / record.track
    v_mid, omega_mid = (0.5 * (each[1:] + each[:-1]) for each in (v, omega))
    torque = 0.5 * (torques[1:] + torques[:-1])
    return Rows(
        (np.column_stack((omega_mid**2, torque.sum(axis=1))), np.diff(v) / between),
        (
            np.column_stack((v_mid * omega_mid, torque[:, 0] - torque[:, 1])),
            np.diff(omega) / between,
        ),
        0.5 * (speeds[1:] + speeds[:-1]),
    )


def joined(linear: Mapping[int, Entry], angular: Mapping[int, Entry]) -> dict[str, Entry]:
    """Return K5..K8 from entries of the columns 0 and 1 of both regressions."""
    pairs = (("K5", linear, 0), ("K6", angular, 0), ("K7", linear, 1), ("K8", angular, 1))
    return {name: axis[column] for name, axis, column in pairs if column in axis}


def least_squares(x: Array, y: Array) -> dict[int, Entry]:
    """Return ordinary least squares with intervals, as textbooks have them, by column."""
    theta, *_ = np.linalg.lstsq(x, y, rcond=None)
    residual = y - x @ theta
    variance = float(residual @ residual) / (len(y) - x.shape[1])
    half = NORMAL_95 * np.sqrt(variance * np.diag(np.linalg.pinv(x.T @ x)))
    return {
        column: (float(value), float(value - width), float(value + width))
        for column, (value, width) in enumerate(zip(theta, half, strict=True))
    }


def ols(record: Record) -> dict[str, Entry]:
    """Least squares of (41) on differences of the samples, without friction."""
    rows = rows_of(record)
    return joined(least_squares(*rows.linear), least_squares(*rows.angular))


def ols_friction(record: Record) -> dict[str, Entry]:
    """Least squares over steps of 40 ms, with viscous and Coulomb friction of each wheel."""
    rows = rows_of(record, SMOOTH).with_friction()
    return joined(least_squares(*rows.linear), least_squares(*rows.angular))


def _plain(theta: Array) -> dict[int, Entry]:
    return {column: float(value) for column, value in enumerate(theta)}


def _by_library(
    fit: Callable[[Array, Array], dict[int, Entry]], record: Record
) -> dict[str, Entry]:
    if record.kind is CommandKind.VELOCITY:
        return _velocity_entries(record, SMOOTH, partial(_scaled, fit))
    rows = rows_of(record, SMOOTH).with_friction()
    return joined(_scaled(fit, *rows.linear), _scaled(fit, *rows.angular))


def _scaled(
    fit: Callable[[Array, Array], dict[int, Entry]], x: Array, y: Array
) -> dict[int, Entry]:
    """Fit columns of one size, as recursive filters begin with one variance for all."""
    scale, size = np.maximum(np.abs(x).max(axis=0), 1e-12), float(np.abs(y).max())
    return {
        column: _times(entry, float(size / scale[column]))
        for column, entry in fit(x / scale, y / size).items()
    }


def _times(entry: Entry, factor: float) -> Entry:
    if isinstance(entry, tuple):
        return entry[0] * factor, entry[1] * factor, entry[2] * factor
    return entry * factor


def padasip_rls(record: Record) -> dict[str, Entry]:
    """FilterRLS of padasip, with friction."""
    filters = import_module("padasip").filters

    def fit(x: Array, y: Array) -> dict[int, Entry]:
        rls = filters.FilterRLS(n=x.shape[1], mu=1.0, eps=1e-6, w="zeros")
        for row, output in zip(x, y, strict=True):
            rls.adapt(output, row)
        return _plain(rls.w)

    return _by_library(fit, record)


def filterpy_kalman(record: Record) -> dict[str, Entry]:
    """KalmanFilter of filterpy with a constant state, with friction."""
    kalman = import_module("filterpy.kalman")

    def fit(x: Array, y: Array) -> dict[int, Entry]:
        each = kalman.KalmanFilter(dim_x=x.shape[1], dim_z=1)
        each.P *= 1e6
        for row, output in zip(x[:, None, :], y, strict=True):
            each.update(output, H=row)
        return _plain(each.x[:, 0])

    return _by_library(fit, record)


def statsmodels_rls(record: Record) -> dict[str, Entry]:
    """RecursiveLS of statsmodels with its intervals, with friction."""
    recursive = import_module("statsmodels.api").RecursiveLS

    def fit(x: Array, y: Array) -> dict[int, Entry]:
        result = recursive(y, x).fit()
        rows = zip(result.params, result.conf_int(alpha=0.05), strict=True)
        return {k: (float(v), float(low), float(high)) for k, (v, (low, high)) in enumerate(rows)}

    return _by_library(fit, record)


def sysid(record: Record) -> dict[str, Entry]:
    """WPILib SysId's regression: change of speed by speed, command and its sign, for each axis.

    It knows no coupling of the axes, so K5 and K6 are refused.
    """
    if record.kind is CommandKind.VELOCITY:
        return _velocity_entries(record, STEP, least_squares)
    rows = rows_of(record)
    speeds = rows.speeds.mean(axis=1), rows.speeds[:, 1] - rows.speeds[:, 0]
    entries: dict[str, Entry] = {}
    for name, (x, y), speed in zip(("K7", "K8"), (rows.linear, rows.angular), speeds, strict=True):
        columns = np.column_stack((x[:, 1], speed, np.sign(speed)))
        entries[name] = float(np.linalg.lstsq(columns, y, rcond=None)[0][0])
    return entries


def _velocity_entries(
    record: Record, step: float, fit: Callable[[Array, Array], dict[int, Entry]]
) -> dict[str, Entry]:
    """Change of speed by speed, command and the speed's sign: lag and gain, no dead time."""
    entries: dict[str, Entry] = {}
    for axis, u, y in axes_of(record, step):
        fitted = fit(np.column_stack((y[:-1], u[:-1], np.sign(y[:-1]))), np.diff(y) / step)
        alpha, beta = (
            each[0] if isinstance(each := fitted[column], tuple) else each for column in (0, 1)
        )
        if alpha < 0.0:
            entries |= {f"time_constant_{axis}": -1.0 / alpha, f"gain_{axis}": -beta / alpha}
    return entries


def axes_of(record: Record, step: float = STEP) -> list[tuple[str, Array, Array]]:
    """Return name, commands and speeds of the axes of a velocity record, every `step` s."""
    columns = even(record, step).columns
    return [(axis, columns[f"command_{axis}"], columns[axis]) for axis in ("v", "omega")]


def arx(record: Record) -> dict[str, Entry]:
    """First-order ARX by least squares, with the dead time that fits best."""
    entries: dict[str, Entry] = {}
    for axis, u, y in axes_of(record):
        best: tuple[float, int, Array] = (np.inf, 0, np.zeros(2))
        for late in range(round(0.8 / STEP)):
            n = len(y) - 1 - late
            x = np.column_stack((y[late : late + n], u[:n]))
            theta, *_ = np.linalg.lstsq(x, y[late + 1 : late + 1 + n], rcond=None)
            error = float(np.mean((y[late + 1 : late + 1 + n] - x @ theta) ** 2))
            if error < best[0]:
                best = (error, late, np.asarray(theta, dtype=np.float64))
        _, late, (a, b) = best
        if 0.0 < a < 1.0:
            entries |= {f"time_constant_{axis}": float(-STEP / np.log(a))}
            entries |= {f"gain_{axis}": float(b / (1.0 - a)), f"dead_time_{axis}": late * STEP}
    return entries


# Buckets of the torque and the least and the most samples of each, as in openpilot's torqued.
BUCKETS, LEAST, MOST = 8, 20, 400


def torqued(record: Record) -> dict[str, Entry]:
    """Slope of acceleration over torque, as openpilot's torqued: buckets, total least squares.

    It knows no coupling of the axes, so K5 and K6 are refused.
    """
    rows = rows_of(record, SMOOTH)
    entries: dict[str, Entry] = {}
    for name, (x, y) in zip(("K7", "K8"), (rows.linear, rows.angular), strict=True):
        torque = x[:, 1]
        edges = np.quantile(torque, np.linspace(0.0, 1.0, BUCKETS + 1))
        chosen = [
            np.flatnonzero((torque >= low) & (torque <= high))[:MOST]
            for low, high in pairwise(edges.tolist())
        ]
        if min(map(len, chosen)) < LEAST:
            continue
        points = np.unique(np.concatenate(chosen))
        # Both in units of their spread, as total least squares asks for errors of one size.
        sizes = float(torque[points].std()), float(y[points].std())
        matrix = np.column_stack(
            (torque[points] / sizes[0], np.ones(len(points)), y[points] / sizes[1])
        )
        *_, last = np.linalg.svd(matrix, full_matrices=False)[2]
        entries[name] = float(-last[0] / last[2] * sizes[1] / sizes[0])
    return entries
