# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

recorder = Executable("diffbot_bringup.recorder_node", "Recorder")
