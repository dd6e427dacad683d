# SPDX-License-Identifier: Apache-2.0
"""What there is in place of a missing partner, and what keeps two endpoints apart, is said."""

import pytest

from diffbot_node.endpoints import Endpoint, EndpointRole, instead, unmatched

STATES, OTHER = "sensor_msgs/msg/JointState", "std_msgs/msg/String"
TOPIC = "/joint_states"


def publisher(topic=TOPIC, kind=STATES, node="/driver", **qos):
    return Endpoint(EndpointRole.PUBLISHES, topic, kind, node, **qos)


def said_of(*endpoints):
    return instead(EndpointRole.PUBLISHES, TOPIC, (STATES,), endpoints)


def test_another_type_on_the_topic_is_named():
    assert said_of(publisher(kind=OTHER)) == (
        f"; /driver publishes it as {OTHER}: must be {STATES}"
    )


@pytest.mark.parametrize(
    ("others", "topic"),
    [
        ([publisher("/one/joint_states"), publisher("/one/arm")], "/one/joint_states"),
        ([publisher("/wheels/states")], "/wheels/states"),
    ],
)
def test_the_same_type_elsewhere_is_named_first_of_the_same_word(others, topic):
    said = said_of(*others)
    assert said.startswith(f"; there is {topic} of /driver: ") and "namespace" in said


def test_there_is_nothing_to_say_where_all_is_right_or_nothing_is_there():
    assert said_of(publisher()) == said_of() == said_of(publisher("/text", OTHER)) == ""
    subscription = Endpoint(EndpointRole.SUBSCRIBES, "/one/joint_states", STATES, "/rviz")
    assert said_of(subscription) == ""


def test_of_many_topics_two_are_named():
    assert said_of(*(publisher(f"/r{k}/joint_states") for k in range(9))).endswith(
        "; 9 topics are of this type, such as /r0/joint_states, /r1/joint_states"
    )


@pytest.mark.parametrize(
    ("offered", "wanted", "said"),
    [
        ({}, {}, ""),
        ({}, {"reliable": False}, ""),
        ({"lasting": True}, {"lasting": True}, ""),
        ({"reliable": False}, {}, "as best effort"),
        ({}, {"lasting": True}, "volatile"),
    ],
)
def test_quality_of_service_that_does_not_match_is_told(offered, wanted, said):
    subscription = Endpoint(EndpointRole.SUBSCRIBES, TOPIC, STATES, "/ident", **wanted)
    text = unmatched(publisher(**offered), subscription)
    assert bool(text) == bool(said) and said in text


def test_types_that_differ_never_match():
    subscription = Endpoint(EndpointRole.SUBSCRIBES, TOPIC, OTHER, "/ident")
    assert STATES in unmatched(publisher(), subscription)
