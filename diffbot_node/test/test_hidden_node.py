# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a hidden node works."""

import contextlib
import signal

import pytest

pytest.importorskip("rclpy")

from diffbot_node.hidden_node import HiddenNode


def test_an_interrupt_that_rclpy_made_another_error_of_is_one_again(domain):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), HiddenNode("test", args=[]):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("Unable to cast Python instance")
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_without_an_interrupt_stays(domain):
    with pytest.raises(RuntimeError), HiddenNode("test", args=[]):
        raise RuntimeError
