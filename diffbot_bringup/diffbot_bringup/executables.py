"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def recorder() -> int:
    """Run the recorder node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_bringup.recorder_node import Recorder
    from diffbot_node import run_node

    return run_node(Recorder)
