"""What is read of the controllers' messages."""

import pytest

messages = pytest.importorskip("diffbot_msgs.msg")

from nav_msgs.msg import Odometry  # noqa: E402

from diffbot_report.controller_topics import CONTROLLERS, TRUTH  # noqa: E402
from diffbot_report.messages import MessageReader, gains_of  # noqa: E402


@pytest.mark.parametrize("fields", CONTROLLERS.values(), ids=CONTROLLERS)
def test_fields_come_in_order(fields):
    message = getattr(messages, fields.message)()
    message.header.stamp.sec = 7
    target = message if hasattr(message, "command") else message.velocity
    target.command[:] = (1.5, -2.5)
    if fields.reference:
        message.set_point.theta = 0.25
    stamps, rows = MessageReader(fields.names).read([message, message])
    assert stamps.tolist() == [7_000_000_000] * 2
    width = 12 if fields.reference else 6
    assert rows.shape == (2, width + sum(fields.extra.values()))
    assert rows[1, width - 2 : width].tolist() == [1.5, -2.5]
    if fields.reference:
        assert rows[0, 2] == 0.25


def test_stamps_of_a_real_clock_are_exact():
    message = Odometry()
    message.header.stamp.sec, message.header.stamp.nanosec = 1_900_000_000, 123_456_789
    stamps, _ = MessageReader(TRUTH).read([message])
    assert stamps.tolist() == [1_900_000_000_123_456_789]


def test_gains():
    status = messages.BackstepStatus(gammas=[1.0, 2.0], lambdas=[3.0])
    fields = CONTROLLERS["backstep_controller"]
    assert gains_of(status, fields) == {"gamma": [1.0, 2.0], "lambda": [3.0]}
    status = messages.PoseControllerStatus()
    status.velocity.kp = 120.0
    assert gains_of(status, CONTROLLERS["pose_controller"])["kp"] == 120.0
