# SPDX-License-Identifier: Apache-2.0
"""What the report of velocity_ident keeps of a run, and tells of it while it goes on."""

import math
import time
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("rclpy")

from diffbot_ident.parameters_message import quantities_of
from diffbot_ident.precision import VelocityPrecision
from diffbot_msgs.msg import IdentStatus
from diffbot_node.robot_messages import to_stamp
from diffbot_recordings.velocity_ident_report_node import (
    FIRST_LOOK,
    LiveAnalysis,
    answer_of,
    message_of,
)
from diffbot_recordings.velocity_record import VelocityRecord, live_table
from diffbot_report.messages import ident_state


def status(stamp, elapsed, v):
    message = IdentStatus(phase=IdentStatus.EXCITING, elapsed=elapsed, linear_velocity=v)
    message.header.stamp = to_stamp(stamp)
    return message


def add(record, message):
    record.add(ident_state(message), *answer_of(message))


def look(live, record):
    """Wait for a new result."""
    while not live.look(record):
        time.sleep(0.01)
    assert record.elapsed >= FIRST_LOOK


def drawn(table):
    console = Console(width=200, file=StringIO())
    console.print(table)
    return console.file.getvalue()


def test_a_run_that_begins_again_keeps_nothing_of_what_was_before():
    record = VelocityRecord()
    for k in range(5):
        add(record, status(10.0 + k, float(k), 0.1))
    assert record.rows()[:, 0].tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]
    add(record, status(15.0, 0.0, 0.3))
    add(record, status(16.0, 1.0, 0.4))
    assert record.rows()[:, :2].tolist() == [[15.0, 0.3], [16.0, 0.4]]
    assert record.total == 7


def test_what_two_looks_find_is_told_with_intervals():
    """A robot with lags of 0.2 and 0.15 s and a gain of 1.1; 25 Hz, noise 2 mm/s, seed 5."""
    rng, record, live = np.random.default_rng(5), VelocityRecord(), LiveAnalysis()
    velocity, command = np.zeros(2), np.zeros(2)
    decays = np.exp(-0.04 / np.array([0.2, 0.15]))
    for k in range(round(30.0 / 0.04)):
        message = status(10.0 + 0.04 * k, 0.04 * k, velocity[0] + rng.normal(0.0, 0.002))
        message.angular_velocity = velocity[1] + rng.normal(0.0, 0.002)
        if k % 12 == 0:
            command = rng.uniform(-0.5, 0.5, 2)
        message.command[:] = command
        add(record, message)
        velocity = 1.1 * command + (velocity - 1.1 * command) * decays
        if k == round(20.0 / 0.04):
            look(live, record)
            first = message_of(live.axes, 0)
            assert all("two looks in a row" in reason for reason in first.reason)
            assert np.isnan([*first.sigma, *first.dead_time]).all()
            text = drawn(live_table(record, live.axes))
            assert "two looks in a row" in text and "time constant" not in text
    look(live, record)
    live.close()
    assert "time constant" in drawn(live_table(record, live.axes))
    message = message_of(live.axes, 11_000_000_000)
    assert message.header.stamp.sec == 11 and list(message.reason) == ["", ""]
    known = quantities_of(message)
    for axis, lag in zip(known, (0.2, 0.15), strict=True):
        for result, true in ((axis.time_constant, lag), (axis.gain, 1.1), (axis.dead_time, 0.0)):
            assert abs(result.value - true) < 5.0 * result.std + 1e-4
    assert VelocityPrecision.parse("time_constant 5% gain 2% dead_time 20ms").is_reached(known)
    assert not VelocityPrecision.parse("gain 0.0001%").is_reached(known)
    empty = message_of({}, 0)
    assert list(empty.reason) == ["no data"] * 2 and math.isnan(empty.sigma[0])
