# SPDX-License-Identifier: Apache-2.0
"""Excite the simulated robot with a custom signal and check the identification.

The signal is a chirp: one sweep for both wheels together, another for the wheels in opposite
directions. No guard limits the speed, so check the share of the speed limits that the robot
reached.

    ./diffbot python examples/own_excitation.py
"""

import math

from diffbot_study import simulate_identification

SECONDS = 20.0


def chirp(t: float) -> tuple[float, float]:
    """Return the torques [left, right], N m, at a time t, s."""
    forward = 0.15 * math.sin(math.tau * (0.5 + 0.05 * t) * t)
    turn = 0.10 * math.sin(math.tau * (0.3 + 0.08 * t) * t)
    return forward - turn, forward + turn


for name, excitation in (("chirp", chirp), ("PRBS", "prbs")):
    run = simulate_identification("twil", seconds=SECONDS, excitation=excitation)
    errors = ", ".join(f"{error:+.2f}" for error in run.errors)
    print(f"{name}: {run.estimate.state.name}, errors of K5 to K8: {errors} %")
    print(f"{name}: speeds up to {100 * run.speeds.max():.0f} % of the limits")
