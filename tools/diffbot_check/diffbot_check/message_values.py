# SPDX-License-Identifier: Apache-2.0
"""Values of messages, of ROS or of a recording: only their fields are used."""

from __future__ import annotations

from typing import Any

from diffbot_check.observation import JointValues, TopicStream
from diffbot_node.senders import Origin
from diffbot_node.topic_types import JOINT_STATE, ODOMETRY, TWISTS
from diffbot_recordings.bag_topics import stamp_of, twist


def append(
    message: Any, kind: str, stream: TopicStream, arrival: float, origin: Origin = None
) -> None:
    """Append a message of this type, which has arrived at this time, s, to its stream."""
    value: Any = None
    if kind == JOINT_STATE:
        value = JointValues(
            tuple(message.name),
            tuple(map(float, message.position)),
            tuple(map(float, message.velocity)),
            tuple(map(float, message.effort)),
        )
    elif kind == ODOMETRY or kind in TWISTS:
        value = twist(message)
    stream.add(arrival, stamp_of(message) or 0.0, value, origin)
    header = getattr(message, "header", None)
    stream.frame = str(getattr(header, "frame_id", ""))
    stream.child = str(getattr(message, "child_frame_id", ""))
