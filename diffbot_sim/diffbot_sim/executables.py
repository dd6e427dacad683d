"""The executables of this package.

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


def gz_simulator() -> int:
    """Run the simulator node for Gazebo; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_sim.gz.gz_simulator_node import GzSimulatorNode

    return run_node(GzSimulatorNode)


def ros2_control_simulator() -> int:
    """Run the simulator node for simulators with ros2_control inside; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_sim.gz.ros2_control_simulator_node import Ros2ControlSimulatorNode

    return run_node(Ros2ControlSimulatorNode)


def velocity_simulator() -> int:
    """Run the velocity_simulator node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_sim.velocity_simulator_node import VelocitySimulatorNode

    return run_node(VelocitySimulatorNode)


def fault_injector() -> int:
    """Run the fault_injector node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_sim.faults.fault_injector_node import FaultInjectorNode

    return run_node(FaultInjectorNode)
