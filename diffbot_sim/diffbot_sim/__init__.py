# SPDX-License-Identifier: Apache-2.0
"""Simulated differential-drive robots: engines, motors, encoders without ROS; simulator nodes."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_sim.engines import make_simulator as make_simulator
    from diffbot_sim.simulator import Simulator as Simulator
    from diffbot_sim.velocity_robot import VelocityRobot as VelocityRobot
    from diffbot_sim.virtual_robot import Actuator as Actuator
    from diffbot_sim.virtual_robot import Encoders as Encoders
    from diffbot_sim.virtual_robot import Payload as Payload
    from diffbot_sim.virtual_robot import VirtualRobot as VirtualRobot

__getattr__, __all__ = lazy_names(__name__, __file__)
