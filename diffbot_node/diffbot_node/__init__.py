# SPDX-License-Identifier: Apache-2.0
"""What the suite's nodes share: parameters with limits, a clean exit, and safe commands."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_node.command_guard import PairLimiter as PairLimiter
    from diffbot_node.command_guard import TorqueLimiter as TorqueLimiter
    from diffbot_node.command_interfaces import CommandParameters as CommandParameters
    from diffbot_node.command_interfaces import RobotInterface as RobotInterface
    from diffbot_node.command_node import CommandNode as CommandNode
    from diffbot_node.counted_topic import COUNTED as COUNTED
    from diffbot_node.counted_topic import CountedTopic as CountedTopic
    from diffbot_node.intra_process import Node as Node
    from diffbot_node.node_process import run_node as run_node
    from diffbot_node.parameter_fields import RobotParameters as RobotParameters
    from diffbot_node.parameter_fields import parameter as parameter
    from diffbot_node.parameter_fields import pose_from_text as pose_from_text
    from diffbot_node.parameters import declare as declare
    from diffbot_node.parameters import results_folder as results_folder
    from diffbot_node.robot_messages import seconds as seconds
    from diffbot_node.robot_messages import subscribe_to_states as subscribe_to_states
    from diffbot_node.robot_messages import to_stamp as to_stamp
    from diffbot_node.torque_interface import EffortNode as EffortNode
    from diffbot_node.torque_interface import EffortParameters as EffortParameters

__getattr__, __all__ = lazy_names(__name__, __file__)
