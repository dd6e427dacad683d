"""What the suite's nodes share: parameters with limits, a clean exit, and safe commands."""

from diffbot_node.command_guard import PairLimiter, TorqueLimiter
from diffbot_node.command_loop import RobotInterface
from diffbot_node.command_node import (
    CommandNode,
    EffortNode,
    EffortParameters,
)
from diffbot_node.kept_topic import KEPT, KEPT_LATCHED, KeptTopic, Receipts
from diffbot_node.parameters import (
    CommandParameters,
    RobotParameters,
    declare,
    parameter,
    pose_from_text,
    results_folder,
)
from diffbot_node.running import run_node
from diffbot_node.source_watch import subscribe_to_states
from diffbot_node.stamps import seconds, to_stamp

__all__ = [
    "KEPT",
    "KEPT_LATCHED",
    "CommandNode",
    "CommandParameters",
    "EffortNode",
    "EffortParameters",
    "KeptTopic",
    "PairLimiter",
    "Receipts",
    "RobotInterface",
    "RobotParameters",
    "TorqueLimiter",
    "declare",
    "parameter",
    "pose_from_text",
    "results_folder",
    "run_node",
    "seconds",
    "subscribe_to_states",
    "to_stamp",
]
