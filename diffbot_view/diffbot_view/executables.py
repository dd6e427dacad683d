# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import os

from diffbot_node.executables import executable

NICENESS = 5  # what commands the robot comes first


def live_view() -> int:
    """Run the live_view node, behind the nodes that command; returns the exit status."""
    os.nice(NICENESS)
    return executable("diffbot_view.live_view_node", "LiveView")()
