# SPDX-License-Identifier: Apache-2.0
"""Enter an estimator of your own into the benchmark: one function of a record.

./diffbot bench --estimator diffbot ols examples/bench_estimator.py:estimate --output board
"""

import numpy as np


def estimate(record):
    """Return K5 to K8 by least squares over steps of 60 ms, with friction; None: refused.

    A value may be a number, or (value, low, high) with a 95 % interval.
    """
    if record.kind != "effort":
        return None
    columns = record.columns
    every = max(1, round(0.06 / np.median(np.diff(columns["time"]))))
    time, left, right, *efforts = (
        columns[name][::every] if "effort" not in name else columns[name]
        for name in ("time", "left_position", "right_position", "left_effort", "right_effort")
    )
    # Mean torques of each step: an effort acted over the period before its stamp.
    starts = np.arange(1, len(columns["time"]), every)[: len(time) - 1]
    torques = [np.add.reduceat(effort, starts)[: len(starts)] / every for effort in efforts]
    wheels = [np.diff(angle) / np.diff(time) for angle in (left, right)]
    v = 0.5 * record.wheel_radius * (wheels[0] + wheels[1])
    omega = record.wheel_radius * (wheels[1] - wheels[0]) / record.track
    middle = [0.5 * (each[1:] + each[:-1]) for each in (v, omega, *torques, *wheels)]
    v_mid, omega_mid, tau_left, tau_right, left, right = middle
    friction = [left, right, np.sign(left), np.sign(right)]
    between = 0.5 * (np.diff(time)[1:] + np.diff(time)[:-1])
    linear = np.column_stack((omega_mid**2, tau_left + tau_right, *friction))
    angular = np.column_stack((v_mid * omega_mid, tau_left - tau_right, *friction))
    k5, k7 = np.linalg.lstsq(linear, np.diff(v) / between, rcond=None)[0][:2]
    k6, k8 = np.linalg.lstsq(angular, np.diff(omega) / between, rcond=None)[0][:2]
    return {"K5": k5, "K6": k6, "K7": k7, "K8": k8}
