# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import signal

from diffbot_node.executables import Executable, end_on_interrupt

ident = Executable("diffbot_ident.ident_node", "IdentNode")
dynamics_estimator = Executable("diffbot_ident.estimator_node", "EstimatorNode")


def identify() -> int:
    """Identify a robot from a recording, see recording.identify; return the exit status."""
    end_on_interrupt()
    from diffbot_ident.recording.identify import main

    # From here on an interrupt must end the command cleanly.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


def calibrate() -> int:
    """Calibrate odometry from a recording or tape, see calibration.command; return exit status."""
    end_on_interrupt()
    from diffbot_ident.calibration.command import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()
