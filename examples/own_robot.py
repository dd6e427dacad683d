# SPDX-License-Identifier: Apache-2.0
"""Define a robot in code, without any file, and compute its closed form K5 to K8.

./diffbot python examples/own_robot.py
"""

from arc_odometry import Velocity
from diffbot_description import RobotModel, closed_form

cart = RobotModel(
    wheel_radius=0.10,  # m
    half_track=0.25,  # m
    mass_body=20.0,  # kg
    inertia_body=0.8,  # kg m^2, about the body's own centre of mass
    com_offset=0.05,  # m ahead of the axle
    wheel_mass=1.0,  # kg, each
    wheel_inertia_spin=0.005,  # kg m^2
    wheel_inertia_yaw=0.003,  # kg m^2
)
loaded = cart.with_payload(mass=10.0, x=-0.05, yaw_inertia=0.2)
for name, model in (("empty", cart), ("loaded", loaded)):
    k = closed_form(model)
    print(f"{name}: K5 {k.k5:.5f} K6 {k.k6:.5f} K7 {k.k7:.5f} K8 {k.k8:.5f}")
    # The coupling of v and omega does no work.
    power = model.equivalent_mass * k.k5 + model.equivalent_inertia * k.k6
    print(f"{name}: M K5 + I K6 = {power:.1e}")
    # (41) of Lages (2017), solved for the torques that give a desired acceleration.
    left, right = k.torque(Velocity(0.2, 0.5), k.drift(Velocity(0.5, 1.0)))
    print(f"{name}: 0.2 m/s^2 and 0.5 rad/s^2 take {left:.4f} and {right:.4f} N m")
