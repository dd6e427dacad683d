# SPDX-License-Identifier: Apache-2.0
"""A robot's graph in real time, one process per node, which the process rows attack.

    simulator --joint_states--> trajectory_publisher --reference--> backstep_controller
        ^                                                                  |
        +--effort_controller/commands-- effort_watchdog <--effort_watchdog/commands

A probe records the commands to the wheels and the robot's states.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import yaml

from diffbot_description import load_robot
from faults.process_group import PATIENCE, ProcessGroup
from faults.process_nodes import CONTROLLERS, NODES, STANDARD, NodeSpec
from faults.process_probe import Probe

PERIOD = 0.01  # s
# Torque above which the robot counts as driven, N m; in the circle of the trajectory_publisher, a
# wheel always has more.
DRIVING = 0.02
STEADY = 25  # consecutive control periods with such a torque
# Low enough to reveal an unlimited change: from 0 to the limit it takes 10 control periods.
TORQUE_RATE = 10.0  # N m/s
FRICTION = 0.02  # N m s/rad; stops a robot without torque
STARTING = 6.0  # s of wall time until a newly started controller drives
ATTEMPTS = 3  # to enable a controller
PROMPT = 2.0  # s of wall time in which a controller resumes without help


class ProcessGraph(ProcessGroup):
    """The nodes, and the probe.

    Args:
        engine: Engine of the simulator.
        nodes: Nodes that may be started, by node name.
        standard: Names of the nodes that drive the robot without a fault.
        robot: Path of its YAML file; empty: twil with friction and the rate limit TORQUE_RATE.

    Attributes:
        probe: Records commands and states.
        spent: Whether a commanding node was killed with SIGKILL: the others of this graph then
            count it as another commander for 20 s (the lease of DDS), and wait.
        limit: Largest torque that may be commanded, N m.
        rate: Largest rate of change of the torque, N m/s.
    """

    def __init__(
        self,
        engine: str,
        nodes: Mapping[str, NodeSpec] = NODES,
        standard: tuple[str, ...] = STANDARD,
        robot: str = "",
    ) -> None:
        super().__init__(engine, nodes)
        self.spent = False
        self._standard = standard
        try:
            self.robot = robot or self._write_robot()
            limits = load_robot(self.robot).limits
            self.limit, self.rate = limits.traction, limits.torque_rate
            for name in standard:
                self.start(name)
            self.probe = Probe(self.domain, PERIOD)
        except BaseException:
            self.close()
            raise

    def _write_robot(self) -> str:
        text = load_robot("twil").path.read_text(encoding="utf-8")
        robot = yaml.safe_load(text)
        robot["limits"]["torque_rate"] = TORQUE_RATE
        robot["friction"]["viscous"] = [FRICTION, FRICTION]
        path = self.folder / "twil.yaml"
        path.write_text(yaml.safe_dump(robot), encoding="utf-8")
        return str(path)

    def drive(self, driver: str = "backstep_controller") -> None:
        """Start all nodes of the run, end the others, and wait until the robot is driven.

        Args:
            driver: Node that drives it; empty: none, so that the robot stands.

        Raises:
            RuntimeError: It is not driven; the message contains the nodes' logs.
        """
        self.probe.vanish()
        self.employ(driver)
        # A newly started node needs longer than one that resumes.
        if not ((self.resumes() or self.regain(driver)[0]) if driver else self._stands()):
            raise RuntimeError(f"the robot is not driven within {PATIENCE:g} s:\n{self.said()}")

    def employ(self, driver: str) -> None:
        """Start the missing nodes of the run, and end the others."""
        wanted = {
            name: name if name != "backstep_controller" else driver for name in self._standard
        }
        for node in set(self._processes) - set(wanted.values()):
            self.leave(node)
        for name in wanted.values():
            if name and (name not in self._processes or not self._processes[name].running):
                self.start(name)

    def resumes(self, patience: float = STARTING) -> bool:
        """Wait until the robot is driven from now on; return whether it is."""
        record, since = self.probe.record, time.time()

        def is_driven() -> bool:
            newest = record.torques[-STEADY:]
            return (
                len(newest) == STEADY
                and record.sent[-STEADY] > since
                and all(DRIVING < max(map(abs, pair)) <= self.limit for pair in newest)
            )

        return self.probe.until(is_driven, patience)

    def regain(self, controller: str = "backstep_controller") -> tuple[bool, str]:
        """Make the robot drive again as a person would; return whether it does, and the steps.

        After the watchdog has cut off the torque, it passes commands again only from zero on: a
        controller whose robot was left behind must be stopped and enabled for that.
        """
        if self.resumes(PROMPT):
            return True, "goes on by itself"
        for times in range(1, ATTEMPTS + 1):
            self.probe.ask(f"{controller}/enable", False)
            self.probe.ask(f"{controller}/enable", True)
            if self.resumes(PROMPT):
                return True, f"goes on when enabled anew {times} ×"
        return False, "does not go on"

    def _stands(self) -> bool:
        """Wait until the robot publishes its state and no node commands."""
        probe = self.probe
        return probe.until(
            lambda: probe.record.reported and not probe.commanders(CONTROLLERS), PATIENCE
        )

    def close(self) -> None:
        """End all processes, including those that hang."""
        if hasattr(self, "probe"):
            self.probe.close()
        super().close()
