# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import signal

from diffbot_node.executables import Executable, end_on_interrupt


def calibrate() -> int:
    """Calibrate odometry from a recording or tape, see command.py; return the exit status."""
    end_on_interrupt()
    from diffbot_calibration.command import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


calibrate_node = Executable(
    "diffbot_calibration.calibrate_node", "CalibrateNode", {"OPENBLAS_NUM_THREADS": "1"}
)
