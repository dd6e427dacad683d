# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import signal
import sys

from diffbot_node.executables import end_on_interrupt


def draft() -> int:
    """Write a robot file from the topics of a robot, see draft_command.py; return the status."""
    end_on_interrupt()
    from rclpy.utilities import remove_ros_args

    from diffbot_check.draft_command import main

    # From here on an interrupt must end the command cleanly.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main(remove_ros_args(sys.argv)[1:])
