# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

# Without rendering, whose library would take half of the import time.
simulator = Executable("diffbot_sim.simulator_node", "SimulatorNode", {"MUJOCO_GL": "disabled"})
gz_simulator = Executable("diffbot_sim.gz.gz_simulator_node", "GzSimulatorNode")
ros2_control_simulator = Executable("diffbot_sim.gz.external_simulator", "Ros2ControlSimulatorNode")
velocity_simulator = Executable("diffbot_sim.velocity_simulator_node", "VelocitySimulatorNode")
fault_injector = Executable("diffbot_sim.faults.fault_injector_node", "FaultInjectorNode")
