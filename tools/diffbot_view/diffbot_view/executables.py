# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable
from diffbot_view.death_notice import with_notice


def live_view() -> int:
    """Run the live_view node; if it dies, a notice says so."""
    return with_notice(Executable("diffbot_view.live_view_node", "LiveView"))
