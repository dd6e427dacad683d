# SPDX-License-Identifier: Apache-2.0
"""The nodes of the graphs with real processes, and their connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WHEELS = "effort_controller/commands"
CONTROLLERS = "effort_watchdog/commands"


@dataclass(frozen=True)
class NodeSpec:
    """Specification of a node's start.

    Attributes:
        module: Module with the executable's function.
        executable: Name of that function.
        parameters: Parameters as on a command line, name:=value.
        remappings: Remappings of names.
        knows_robot: Whether it has the parameter `robot`.
    """

    module: str
    executable: str
    parameters: tuple[str, ...] = ()
    remappings: Mapping[str, str] = field(default_factory=dict)
    knows_robot: bool = True

    def words(self, name: str, more: tuple[str, ...]) -> list[str]:
        """Return the command line after the program.

        Args:
            name: Node name.
            more: Additional parameters.
        """
        words = ["--ros-args", "-r", f"__node:={name}"]
        for parameter in (*self.parameters, *more):
            words += ["-p", parameter]
        for old, new in self.remappings.items():
            words += ["-r", f"{old}:={new}"]
        return words


@dataclass(frozen=True)
class ComposedSpec:
    """Specification of the start of several nodes in one process.

    Attributes:
        nodes: Executables, PACKAGE/EXECUTABLE, in the order of creation.
        parameters: Parameters as on a command line, NODE:name:=value.
        remappings: Remappings of names.
    """

    nodes: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    remappings: Mapping[str, str] = field(default_factory=dict)
    module = "diffbot_node.executables"
    executable = "composed"
    knows_robot = True

    def words(self, name: str, more: tuple[str, ...]) -> list[str]:
        """Return the command line after the program; see NodeSpec."""
        words = [*self.nodes, "--ros-args"]
        for parameter in (*self.parameters, *more):
            words += ["-p", parameter]
        for old, new in self.remappings.items():
            words += ["-r", f"{old}:={new}"]
        return words


SIMULATED = ("use_sim_time:=true",)
GUARDED = {WHEELS: CONTROLLERS}
REFERENCE = {"reference": "backstep_controller/reference"}
CONTROLLER = "diffbot_controllers.executables"
NODES = {
    "simulator": NodeSpec("diffbot_sim.executables", "simulator"),
    "effort_watchdog": NodeSpec("diffbot_node.executables", "effort_watchdog"),
    "backstep_controller": NodeSpec(CONTROLLER, "backstep_controller", SIMULATED, GUARDED),
    # An endless circle that needs torque on both wheels at all times.
    "trajectory_publisher": NodeSpec(
        "pose2d_trajectories.executables",
        "trajectory_publisher",
        (
            *("trajectory:=circle", "radius:=0.3", "speed:=0.45", "ramp_up:=1.0", "laps:=0"),
            *("lead:=0.01", *SIMULATED),
        ),
        REFERENCE,
        knows_robot=False,
    ),
    "second_controller": NodeSpec(CONTROLLER, "backstep_controller", SIMULATED, GUARDED),
    "failing_controller": NodeSpec(
        "faults.process_failing_law",
        "failing_controller",
        SIMULATED,
        {**GUARDED, "failing_controller/reference": "backstep_controller/reference"},
    ),
    "ident": NodeSpec(
        "diffbot_ident.executables",
        "ident",
        ("duration:=600.0", "verification:=0.0", *SIMULATED),
        GUARDED,
    ),
}
"""By name on the wire."""
ONE_PROCESS = "one_process"
_CIRCLE = tuple(
    f"trajectory_publisher:{text}"
    for text in ("trajectory:=circle", "radius:=0.3", "speed:=0.45", "ramp_up:=1.0", "laps:=0")
)


def composed(
    controller: str = "diffbot_controllers/backstep_controller",
    speed: float = 1.0,
    onlooker: str = "",
) -> ComposedSpec:
    """Return the start of a simulated run in one process, an endless circle.

    Args:
        controller: Executable of the controller, PACKAGE/EXECUTABLE.
        speed: Robot time per wall time; 0: as fast as it goes.
        onlooker: One more executable; empty: none.
    """
    # A derived controller keeps its parent's name.
    node = "backstep_controller"
    return ComposedSpec(
        (
            *filter(None, (onlooker,)),
            *("pose2d_trajectories/trajectory_publisher", controller, "diffbot_sim/simulator"),
        ),
        (
            *_CIRCLE,
            "trajectory_publisher:lead:=0.01",
            f"{node}:wait_for_reference:=true",
            "trajectory_publisher:use_sim_time:=true",
            f"{node}:use_sim_time:=true",
            f"simulator:speed:={speed}",
        ),
        {"reference": f"{node}/reference"},
    )


STANDARD = ("simulator", "effort_watchdog", "backstep_controller", "trajectory_publisher")
"""Who drives the robot when nothing is wrong."""
