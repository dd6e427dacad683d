# SPDX-License-Identifier: Apache-2.0
"""Who is in the graphs with real processes, and how they are wired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WHEELS = "effort_controller/commands"
CONTROLLERS = "effort_watchdog/commands"


@dataclass(frozen=True)
class NodeSpec:
    """How a node is started.

    Attributes:
        module: holds the executable's function.
        executable: name of that function.
        parameters: as on a command line, name:=value.
        remappings: of names.
        knows_robot: whether it has the parameter `robot`.
    """

    module: str
    executable: str
    parameters: tuple[str, ...] = ()
    remappings: Mapping[str, str] = field(default_factory=dict)
    knows_robot: bool = True

    def words(self, name: str, more: tuple[str, ...]) -> list[str]:
        """The command line after the program.

        Args:
            name: of the node on the wire.
            more: parameters, besides its own.
        """
        words = ["--ros-args", "-r", f"__node:={name}"]
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
    "simulator": NodeSpec(
        "diffbot_sim.executables", "simulator", ("lock_step:=false", "speed:=1.0")
    ),
    "effort_watchdog": NodeSpec("diffbot_node.executables", "effort_watchdog"),
    "backstep_controller": NodeSpec(CONTROLLER, "backstep_controller", SIMULATED, GUARDED),
    # Round and round with torque on both wheels at all times.
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
STANDARD = ("simulator", "effort_watchdog", "backstep_controller", "trajectory_publisher")
"""Who drives the robot when nothing is wrong."""
