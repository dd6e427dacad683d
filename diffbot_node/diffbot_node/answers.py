"""Which state of the robot a command answers, in the command itself.

A simulator in lock-step says a state, and says it again until the command that answers it has come;
then it goes on by one control period. A command may come twice, late, or unasked (zero because
somebody pressed the emergency stop), so each names the newest state that its sender has answered:

- std_msgs/Float64MultiArray by the label of its first dimension, "answers 12.340000000";
- geometry_msgs/TwistStamped by its stamp (0 without a frame is that of a tool without a clock).

Both are left alone by the drivers of real robots: ros2_control's controllers read the data only. A
command without a name, as other programs send it, answers whatever state waits. A Twist cannot say
what it answers.
"""

from __future__ import annotations

from geometry_msgs.msg import TwistStamped
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from diffbot_node.stamps import seconds

PREFIX = "answers "
# Stamps go through floats, s.
TOLERANCE = 1e-6
# Named by a command that is sent before any state was answered: a stamp that no state has, s.
NOTHING = 1e-9


def effort_command() -> Float64MultiArray:
    """A command of two torques [left, right], zero, N m, with room for a name."""
    message = Float64MultiArray(data=[0.0, 0.0])
    message.layout.dim = [MultiArrayDimension(label=label(NOTHING), size=2, stride=2)]
    return message


def label(stamp: float) -> str:
    """The name of a state by its stamp, s."""
    return f"{PREFIX}{stamp:.9f}"


def named_by(message: Float64MultiArray | TwistStamped) -> float | None:
    """Stamp of the state that a command names, s; None where it names none."""
    if isinstance(message, TwistStamped):
        header = message.header
        return seconds(header.stamp) or (0.0 if header.frame_id else None)
    for dimension in message.layout.dim[:1]:
        if dimension.label.startswith(PREFIX):
            try:
                return float(dimension.label.removeprefix(PREFIX))
            except ValueError:
                return None
    return None


def answers(named: float | None, stamp: float) -> bool:
    """Whether a command that names a state answers the one with this stamp, s.

    One that names a later state answers it, too: programs that stamp by another clock.
    """
    return named is None or (named != NOTHING and named > stamp - TOLERANCE)
