"""What the suite's nodes share: parameters with limits, a clean exit, and safe commands."""

from diffbot_node.command_node import CommandNode
from diffbot_node.command_parameters import COMMAND_PARAMETERS
from diffbot_node.effort_node import EffortNode
from diffbot_node.effort_parameters import EFFORT_PARAMETERS
from diffbot_node.kept_topic import KEPT, KEPT_LATCHED, KeptTopic, Receipts
from diffbot_node.pair_limiter import PairLimiter
from diffbot_node.parameters import Parameter, declare
from diffbot_node.pose_text import pose_from_text
from diffbot_node.results import results_folder
from diffbot_node.running import run_node
from diffbot_node.stamps import seconds, to_stamp
from diffbot_node.state_subscription import subscribe_to_states
from diffbot_node.torque_limiter import TorqueLimiter

__all__ = [
    "COMMAND_PARAMETERS",
    "EFFORT_PARAMETERS",
    "KEPT",
    "KEPT_LATCHED",
    "CommandNode",
    "EffortNode",
    "KeptTopic",
    "PairLimiter",
    "Parameter",
    "Receipts",
    "TorqueLimiter",
    "declare",
    "pose_from_text",
    "results_folder",
    "run_node",
    "seconds",
    "subscribe_to_states",
    "to_stamp",
]
