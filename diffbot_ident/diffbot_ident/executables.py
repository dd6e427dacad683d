"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def ident() -> int:
    """Run the ident node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_ident.ident_node import IdentNode
    from diffbot_node import run_node

    return run_node(IdentNode)


def dynamics_estimator() -> int:
    """Run the dynamics_estimator node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_ident.estimator_node import EstimatorNode
    from diffbot_node import run_node

    return run_node(EstimatorNode)


def identify() -> int:
    """Identify a robot from a recording, see recording.identify; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_ident.recording.identify import main

    # From here on there is something to end cleanly.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()
