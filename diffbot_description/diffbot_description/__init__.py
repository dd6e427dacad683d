"""Differential-drive robots: one YAML file each, their URDF and their closed-form dynamics."""

from diffbot_description.dynamic_parameters import DynamicParameters, closed_form
from diffbot_description.generation import urdf
from diffbot_description.loading import known_robots, load_robot
from diffbot_description.robot import Robot
from diffbot_description.robot_model import RobotModel

__all__ = [
    "DynamicParameters",
    "Robot",
    "RobotModel",
    "closed_form",
    "known_robots",
    "load_robot",
    "urdf",
]
