# SPDX-License-Identifier: Apache-2.0
"""What the report of velocity_ident keeps of a run."""

import pytest

pytest.importorskip("rclpy")

from diffbot_msgs.msg import IdentStatus
from diffbot_node.robot_messages import to_stamp
from diffbot_recordings.velocity_ident_report_node import VelocityRecord


def status(stamp, elapsed, v):
    message = IdentStatus(phase=IdentStatus.EXCITING, elapsed=elapsed, linear_velocity=v)
    message.header.stamp = to_stamp(stamp)
    return message


def test_a_run_that_begins_again_keeps_nothing_of_what_was_before():
    record = VelocityRecord()
    for k in range(5):
        record.add(status(10.0 + k, float(k), 0.1))
    assert record.rows()[:, 0].tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]
    record.add(status(15.0, 0.0, 0.3))
    record.add(status(16.0, 1.0, 0.4))
    assert record.rows()[:, :2].tolist() == [[15.0, 0.3], [16.0, 0.4]]
    assert record.total == 7
