# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import os

from diffbot_node.executables import executable


def simulator() -> int:
    """Run the simulator node; return the exit status.

    MuJoCo's rendering is disabled: its window library would take half of the import time.
    """
    os.environ.setdefault("MUJOCO_GL", "disabled")
    return executable("diffbot_sim.simulator_node", "SimulatorNode")()


gz_simulator = executable("diffbot_sim.gz.gz_simulator_node", "GzSimulatorNode")
ros2_control_simulator = executable(
    "diffbot_sim.gz.ros2_control_simulator_node", "Ros2ControlSimulatorNode"
)
velocity_simulator = executable("diffbot_sim.velocity_simulator_node", "VelocitySimulatorNode")
fault_injector = executable("diffbot_sim.faults.fault_injector_node", "FaultInjectorNode")
