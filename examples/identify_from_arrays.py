# SPDX-License-Identifier: Apache-2.0
"""Identify K5 to K8 from NumPy arrays of wheel angles and torques.

A simulated robot, with the encoders of its file and 1 % torque noise, replaces your log:
change the first four lines to np.loadtxt or any other code that reads it.

    ./diffbot python examples/identify_from_arrays.py
"""

import numpy as np

from diffbot_description import load_robot
from diffbot_recordings import identify_arrays
from diffbot_study.recorded_runs import record_batch

run = record_batch([load_robot("twil")], seeds=[0], seconds=30.0, torque_noise=0.01)
time = run.stamps  # s
angles = run.positions[:, :, 0]  # [left, right], rad
torques = run.efforts[:, :, 0]  # [left, right], N m

result = identify_arrays(time, angles, torques, wheel_radius=0.075, wheel_separation=0.27217)

print(f"{result.state.name} from {result.samples} samples")
names, deviations = ("K5", "K6", "K7", "K8"), np.sqrt(result.variances)
rows = zip(names, result.values, deviations, run.truth[:, 0], strict=True)
for name, value, deviation, truth in rows:
    print(f"{name} = {value:8.4f} ± {1.96 * deviation:.4f} (95 %), truth {truth:8.4f}")
