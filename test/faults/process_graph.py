# SPDX-License-Identifier: Apache-2.0
"""A robot's graph in real time, each node in a process: what the process rows attack.

    simulator --joint_states--> trajectory_publisher --reference--> backstep_controller
        ^                                                                  |
        +--effort_controller/commands-- effort_watchdog <--effort_watchdog/commands

A probe listens to the wheels and to the robot.
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
# Torque that counts as driving, N m: in the circle below a wheel always has more.
DRIVING = 0.02
STEADY = 25  # control periods of it in a row
# From 0 to the limit takes 10 control periods: a change without a limit shows.
TORQUE_RATE = 10.0  # N m/s
FRICTION = 0.02  # N m s/rad; a robot without torque comes to rest
STARTING = 6.0  # s of wall time until a controller that is started drives
ATTEMPTS = 3  # to enable a controller
PROMPT = 2.0  # s of wall time in which a controller goes on by itself


class ProcessGraph(ProcessGroup):
    """The nodes, and the probe.

    Args:
        engine: of the simulator.
        nodes: who may be started, by name on the wire.
        standard: names of who drives the robot when nothing is wrong.
        robot: path of its YAML; empty: twil with friction and a rate limit that shows.

    Attributes:
        probe: listens.
        spent: whether somebody who commands was killed outright: the others of this graph will
            count it as another commander for 20 s (the lease of DDS), and wait.
        limit: largest torque that may be commanded, N m.
        rate: largest change of it, N m/s.
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
        """See to it that all run who belong to the run, and wait until the robot is driven.

        Args:
            driver: who drives it; empty: nobody of them, so that the robot stands.

        Raises:
            RuntimeError: it is not; the message holds what the nodes said.
        """
        self.probe.vanish()
        self.employ(driver)
        # A node that has just been started needs longer than one that goes on.
        if not ((self.resumes() or self.regain(driver)[0]) if driver else self._stands()):
            raise RuntimeError(f"the robot is not driven within {PATIENCE:g} s:\n{self.said()}")

    def employ(self, driver: str) -> None:
        """Start who belongs to the run and is missing, and end the others."""
        wanted = {
            name: name if name != "backstep_controller" else driver for name in self._standard
        }
        for node in set(self._processes) - set(wanted.values()):
            self.leave(node)
        for name in wanted.values():
            if name and (name not in self._processes or not self._processes[name].running):
                self.start(name)

    def resumes(self, patience: float = STARTING) -> bool:
        """Wait until the robot is driven from now on; whether it is."""
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
        """Let the robot be driven again as a person would; whether it is, and what it took.

        What the watchdog has cut off passes again from zero on only: a controller whose robot has
        been left behind has to be stopped and enabled for that.
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
        """Wait until the robot tells its state, and nobody commands."""
        probe = self.probe
        return probe.until(
            lambda: probe.record.told and not probe.commanders(CONTROLLERS), PATIENCE
        )

    def close(self) -> None:
        """End everything; whoever hangs, too."""
        if hasattr(self, "probe"):
            self.probe.close()
        super().close()
