# SPDX-License-Identifier: Apache-2.0
"""The message of a set point: geometry_msgs/Pose2D, from Lyrical on diffbot_msgs/Pose2D.

Both have the same fields; Lyrical has removed the former.
"""

from __future__ import annotations

try:
    from geometry_msgs.msg import Pose2D
except ImportError:
    from diffbot_msgs.msg import Pose2D

__all__ = ["Pose2D"]
