# SPDX-License-Identifier: Apache-2.0
"""Identify a robot that differs from its file, save the result, and drive with it.

The robot, simulated in MuJoCo, has friction and carries 2 kg more than described.

    ./diffbot python examples/identify_then_drive.py
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from diffbot_controllers import KnownWheels, tuned_backstepping
from diffbot_description import closed_form, load_robot, write_identified_robot
from diffbot_ident.parameter_writer import usable_friction
from diffbot_study import simulate_drive, simulate_identification
from pose2d_trajectories import make_trajectory

described = load_robot("twil")
real = replace(
    described,
    body=replace(described.body, mass=described.body.mass + 2.0),
    friction=replace(described.friction, viscous=(0.002, 0.002), coulomb=(0.04, 0.05)),
)
result = simulate_identification(real, "mujoco", seconds=20.0, torque_noise=0.01).estimate
k5, _, k7, k8 = result.values  # K6 follows from the others
friction = usable_friction(result.friction, described)
with TemporaryDirectory() as folder:
    files = write_identified_robot(described, Path(folder), k5, k7, k8, friction)
    identified = load_robot(files[0])
print(f"mass of the body: {identified.body.mass:.3f} kg, truth {real.body.mass:.3f} kg")

eight = make_trajectory("figure_eight", laps=1)
for name, robot in (("described", described), ("identified", identified)):
    law = tuned_backstepping(
        closed_form(robot.model), robot.limits.traction, mean_velocity=True,
        wheels=KnownWheels.of(robot),
    )  # fmt: skip
    position, heading = simulate_drive("mujoco", real, law, eight.at, eight.duration).true.rms(20.0)
    print(f"{name}: rms {1e3 * position:.2f} mm, {1e3 * heading:.2f} mrad in the second half")
