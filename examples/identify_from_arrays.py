# SPDX-License-Identifier: Apache-2.0
"""Identify K5 to K8 from NumPy arrays of wheel angles and torques.

A simulated robot with friction, encoders of 4096 counts and 1 % torque noise replaces your log:
change the first four lines to np.loadtxt or any other code that reads it.

    ./diffbot python examples/identify_from_arrays.py
"""

import numpy as np

from diffbot_study import identify_arrays
from diffbot_study.recorded_runs import RunSetting, record

run = record(RunSetting(robot="twil"), seed=0, seconds=30.0)
time = np.array([sample.stamp for sample in run.samples])  # s
angles = np.array([sample.position for sample in run.samples])  # [left, right], rad
torques = np.array([sample.effort for sample in run.samples])  # [left, right], N m

found = identify_arrays(time, angles, torques, wheel_radius=0.075, wheel_separation=0.27217)

print(f"{found.state.name} from {found.samples} samples")
names, deviations = ("K5", "K6", "K7", "K8"), np.sqrt(found.variances)
for name, value, deviation, truth in zip(names, found.values, deviations, run.truth, strict=True):
    print(f"{name} = {value:8.4f} ± {1.96 * deviation:.4f} (95 %), truth {truth:8.4f}")
