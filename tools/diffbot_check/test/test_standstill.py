# SPDX-License-Identifier: Apache-2.0
"""Whether a robot stands, from what was seen, without ROS."""

import math

import pytest

from diffbot_check.observation import JointValues, Observation, TopicNames, TopicStream
from diffbot_check.standstill import is_long_enough, standstill

TOPICS = TopicNames()
NAMES = ("left", "right")


def seen(joints=(), odom=(), period=0.1, seconds=3.0):
    streams = {}
    for topic, values in ((TOPICS.joint_states, joints), (TOPICS.odom, odom)):
        if values is None or len(values):
            streams[topic] = TopicStream(topic, "")
            for i, value in enumerate(values or ()):
                streams[topic].add(period * i, 0.0, value)
    return Observation(seconds, streams=streams)


def joints(position=(), velocity=(), count=20):
    """The left wheel has these values in turn; the right one stands."""
    return [
        JointValues(
            NAMES,
            (position[i % len(position)], 7.0) if position else (),
            (velocity[i % len(velocity)], 0.0) if velocity else (),
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (seen(joints([0.3])), ""),
        (seen(joints([0.3, 0.31])), ""),
        (seen(joints([0.3, 0.33])), "left turns by 0.03 rad"),
        # A speed that is only noise says less than angles that stay.
        (seen(joints([0.3], [1.0])), ""),
        (seen(joints([], [0.01])), ""),
        (seen(joints([], [0.2])), "at 0.2 rad/s"),
        (seen(joints([math.nan], [math.nan])), "neither an angle nor a speed"),
        (seen(joints([0.3]), [(0.0, 0.0)] * 20), ""),
        (seen(joints([0.3]), [(0.0, 0.1)] * 20), "up to 0 m/s, 0.1 rad/s"),
        (seen((), [(-0.02, 0.0)] * 20), "up to 0.02 m/s"),
        (seen(joints([0.3], count=2)), "nothing says whether the robot stands"),
        (seen(joints([0.3], count=9)), "nothing says whether the robot stands"),
        (seen(), "nothing says whether the robot stands"),
    ],
)
def test_it_stands_only_if_all_that_was_seen_says_so(observation, words):
    verdict = standstill(observation, TOPICS)
    assert bool(verdict) is bool(words) and words in verdict.reason


def test_every_topic_is_seen_long_enough():
    assert is_long_enough(seen(joints([0.3])), TOPICS)
    assert not is_long_enough(seen(joints([0.3]), seconds=1.5), TOPICS)
    assert not is_long_enough(seen(joints([0.3]), [(0.0, 0.0)] * 5), TOPICS)
    assert not is_long_enough(seen(joints([0.3]), None), TOPICS)
    assert not is_long_enough(seen(), TOPICS)
