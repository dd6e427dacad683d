# SPDX-License-Identifier: Apache-2.0
"""Use the exact arc odometry alone: pose and covariance from wheel angles.

The robot drives a lap of a circle of 1 m radius and reads its encoders only 40 times: arcs of any
length are exact. The wheels' paths are noisy, with a standard deviation of 1 mm over 1 m.

    ./diffbot python examples/odometry_alone.py
"""

import math

import numpy as np

from arc_odometry import DiffOdometry, WheelGeometry

READINGS, LAP = 40, 10.0  # s

geometry = WheelGeometry(left_radius=0.075, right_radius=0.075, separation=0.272)
odometry = DiffOdometry(geometry, path_noise=1e-3**2)
left, right = geometry.wheel_velocity(math.tau / LAP, math.tau / LAP)
for time in np.linspace(0.0, LAP, READINGS + 1).tolist():
    odometry.update(time, (left * time, right * time))

x, y, theta = odometry.pose
print(f"x {1e3 * x:+.6f} mm, y {1e3 * y:+.6f} mm, turned {theta / math.tau:.6f} times")
v, omega = odometry.velocity
print(f"v {v:.4f} m/s, omega {omega:.4f} rad/s")
deviations = np.sqrt(np.diag(odometry.covariance))
print(
    f"standard deviations: x {1e3 * deviations[0]:.2f} mm, y {1e3 * deviations[1]:.2f} mm, "
    f"heading {1e3 * deviations[2]:.2f} mrad"
)
