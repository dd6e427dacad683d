# SPDX-License-Identifier: Apache-2.0
"""Write a control law and drive the simulated robot with it.

The law steers towards a point and slows down on the way. Its pose and velocity come from the
wheels' encoders, not from the true state, and its torques are limited as in the nodes.

    ./diffbot python examples/own_control_law.py
"""

import math

from diffbot_description import load_robot
from diffbot_study import simulate_drive
from pose2d_trajectories import Reference


class SteerToPoint:
    """Proportional control of speed and yaw rate."""

    def update(self, state, reference, dt):
        """Return the torques [left, right], N m, for the next control period."""
        dx, dy = reference.x - state.pose.x, reference.y - state.pose.y
        away = math.remainder(math.atan2(dy, dx) - state.pose.theta, math.tau)
        v = min(0.8 * math.hypot(dx, dy), 0.5) * math.cos(away)
        omega = 2.0 * math.sin(away) if math.hypot(dx, dy) > 0.02 else 0.0
        forward = 1.5 * (v - state.velocity.v)
        turn = 0.1 * (omega - state.velocity.omega)
        return forward - turn, forward + turn


robot = load_robot("twil")
run = simulate_drive("ideal", robot, SteerToPoint(), lambda t: Reference(1.0, 0.5), 12.0)
x, y, _ = run.pose[-1]
print(f"at ({x:.3f}, {y:.3f}) m after {run.time[-1]:.1f} s, goal (1, 0.5)")
print(f"largest torque {run.peak_torque:.3f} N m of {robot.limits.traction} N m")
print(f"largest speed {run.peak_speeds[0]:.3f} m/s")
