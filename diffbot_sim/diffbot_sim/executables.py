"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal
from importlib import import_module


def _run(module: str, node: str) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node

    return run_node(getattr(import_module(f"diffbot_sim.{module}"), node))


def simulator() -> int:
    """Run the simulator node; returns the exit status."""
    return _run("simulator_node", "SimulatorNode")


def gz_simulator() -> int:
    """Run the simulator node for Gazebo; returns the exit status."""
    return _run("gz.gz_simulator_node", "GzSimulatorNode")


def ros2_control_simulator() -> int:
    """Run the simulator node for simulators with ros2_control inside; returns the exit status."""
    return _run("gz.ros2_control_simulator_node", "Ros2ControlSimulatorNode")


def velocity_simulator() -> int:
    """Run the velocity_simulator node; returns the exit status."""
    return _run("velocity_simulator_node", "VelocitySimulatorNode")


def fault_injector() -> int:
    """Run the fault_injector node; returns the exit status."""
    return _run("faults.fault_injector_node", "FaultInjectorNode")
