# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import signal

from diffbot_node.executables import Executable, end_on_interrupt


def identify() -> int:
    """Identify a robot from a recording, see identify.py; return the exit status."""
    end_on_interrupt()
    from diffbot_recordings.identify import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


recorder = Executable("diffbot_recordings.recorder_node", "Recorder")
velocity_ident_report = Executable(
    "diffbot_recordings.velocity_ident_report_node", "VelocityIdentReport"
)
