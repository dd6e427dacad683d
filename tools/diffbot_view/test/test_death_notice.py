# SPDX-License-Identifier: Apache-2.0
"""A view that dies is told loudly in the terminal; one that ends is not."""

import subprocess
import sys

import pytest

from diffbot_view.death_notice import NOTICE

CODE = "import os, sys; from diffbot_view.death_notice import with_notice; "


@pytest.mark.parametrize(
    ("end", "reported"),
    [
        ("os.kill(os.getpid(), 9)", True),
        ("os.kill(os.getpid(), 11)", True),
        ("1 / 0", True),
        ("1", True),
        ("0", False),
        ("128 + 2", False),  # as in a launch that has ended
    ],
)
def test_only_a_death_is_told(end, reported):
    command = [sys.executable, "-c", f"{CODE}sys.exit(with_notice(lambda: {end}))"]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=20)
    assert (NOTICE in ended.stderr) is reported
    assert "Ctrl-C" in NOTICE and "./diffbot view" in NOTICE
