"""Bringing two wheel torques into their limit."""

from __future__ import annotations

from diffbot_controllers.checks import check_finite
from diffbot_controllers.motion import Torque


def limit_torque(torque: Torque, limit: float) -> Torque:
    """Torques [left, right] within +-limit, N m; steering first.

    The difference of the torques turns the robot, their sum drives it. A robot that turns as asked
    but drives too slowly stays on its way; one that drives as asked but turns too slowly leaves
    it. So the difference gets what it needs, and the sum what the difference leaves.

    Raises:
        ValueError: a torque is not finite, the work of numbers beyond any robot. Clipping would
            make full torque of it.
    """
    left, right = torque
    check_finite("torque is beyond floating point", left=left, right=right)
    steering = max(-limit, min(limit, 0.5 * (right - left)))
    room = limit - abs(steering)
    drive = max(-room, min(room, 0.5 * (left + right)))
    # Rounding must not carry a torque beyond its limit.
    left, right = drive - steering, drive + steering
    return max(-limit, min(limit, left)), max(-limit, min(limit, right))
