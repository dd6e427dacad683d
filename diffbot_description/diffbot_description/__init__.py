# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots: one YAML file each, their URDF and their closed-form dynamics."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_description.arena import Arena as Arena
    from diffbot_description.dynamics import DynamicParameters as DynamicParameters
    from diffbot_description.dynamics import FrictionLaw as FrictionLaw
    from diffbot_description.dynamics import Torque as Torque
    from diffbot_description.dynamics import closed_form as closed_form
    from diffbot_description.dynamics import wheel_friction as wheel_friction
    from diffbot_description.files import write_atomically as write_atomically
    from diffbot_description.identified_robot import (
        write_identified_robot as write_identified_robot,
    )
    from diffbot_description.loading import known_robots as known_robots
    from diffbot_description.loading import load_robot as load_robot
    from diffbot_description.loading import save_robot as save_robot
    from diffbot_description.loading import urdf as urdf
    from diffbot_description.robot import Robot as Robot
    from diffbot_description.robot_model import RobotModel as RobotModel
    from diffbot_description.sigma import Sigma as Sigma

__getattr__, __all__ = lazy_names(__name__, __file__)
