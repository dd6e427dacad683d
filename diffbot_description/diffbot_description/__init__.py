# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots: one YAML file each, their URDF and their closed-form dynamics."""

from diffbot_description.dynamics import (
    DynamicParameters,
    FrictionLaw,
    Sigma,
    Torque,
    closed_form,
    wheel_friction,
)
from diffbot_description.files import write_atomically
from diffbot_description.identified_robot import write_identified_robot
from diffbot_description.loading import known_robots, load_robot, save_robot, urdf
from diffbot_description.robot import Robot
from diffbot_description.robot_model import RobotModel

__all__ = [
    "DynamicParameters",
    "FrictionLaw",
    "Robot",
    "RobotModel",
    "Sigma",
    "Torque",
    "closed_form",
    "known_robots",
    "load_robot",
    "save_robot",
    "urdf",
    "wheel_friction",
    "write_atomically",
    "write_identified_robot",
]
