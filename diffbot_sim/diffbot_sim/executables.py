"""The executable of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def simulator() -> int:
    """Run the simulator node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_sim.simulator_node import SimulatorNode

    return run_node(SimulatorNode)
