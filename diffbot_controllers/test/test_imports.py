# SPDX-License-Identifier: Apache-2.0
"""What nodes that drive import: it is in the way of each start."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy")

NODES = (
    "diffbot_ident.ident_node",
    "diffbot_controllers.nodes.backstep_node",
    "diffbot_controllers.nodes.linearizing_node",
    "diffbot_controllers.nodes.pose_node",
    "diffbot_controllers.velocity_tracking.velocity_tracking_node",
)
# SciPy alone takes longer than all the rest; the others belong to reports and recordings.
SLOW = {"scipy", "matplotlib", "rosbags"}


def test_nodes_that_drive_start_without_slow_packages():
    code = f"import sys, {', '.join(NODES)}; print({SLOW!r} & sys.modules.keys() or 'none')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout.strip(), result.returncode) == ("none", 0), result.stderr
