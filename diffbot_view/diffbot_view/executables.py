# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import executable

live_view = executable("diffbot_view.live_view_node", "LiveView")
