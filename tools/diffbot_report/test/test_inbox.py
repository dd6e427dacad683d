# SPDX-License-Identifier: Apache-2.0
"""A topic's messages at a node's end."""

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")

from diffbot_report.inbox import Inbox


class Endless(nullcontext):
    """A subscription whose publisher is faster than whoever takes its messages."""

    taken = 0

    def take_message(self, kind, raw):
        time.sleep(0.001)
        self.taken += 1
        assert self.taken < 5000, "it does not end"
        return "message", None


def test_a_publisher_that_is_faster_does_not_keep_a_node_from_ending():
    subscription = SimpleNamespace(handle=Endless(), msg_type=str)
    node = SimpleNamespace(composed=False, create_subscription=lambda *_: subscription)
    inbox = Inbox(node, str, "diagnostics")
    inbox.fetch()
    assert inbox.take()
