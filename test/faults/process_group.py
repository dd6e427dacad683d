# SPDX-License-Identifier: Apache-2.0
"""Nodes in separate processes, in a separate DDS domain that is limited to this machine.

They never connect to a user's robot.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup import domains
from faults.process_nodes import ComposedSpec, NodeSpec
from faults.process_priority import urgent
from faults.process_server import NodeProcess

PATIENCE = 15.0  # s of wall time to wait for any expected event; a hang ends the row


class ProcessGroup:
    """The processes, by the nodes' names.

    Args:
        engine: Engine of the simulator.
        nodes: Nodes that may be started, by node name.

    Attributes:
        domain: DDS domain.
        folder: Folder for files of the run; it is removed at the end.
        robot: Path of the robot's YAML file for the nodes.
        variables: Environment variables of the processes.
    """

    def __init__(self, engine: str, nodes: Mapping[str, NodeSpec | ComposedSpec]) -> None:
        self._own = domains.claim("faults")
        self.domain = self._own.domain
        # The process server, its processes and all threads started from here inherit the priority.
        self._urgent = contextlib.ExitStack()
        self._urgent.enter_context(urgent())
        self._engine, self._nodes = engine, nodes
        self.folder = Path(tempfile.mkdtemp(prefix="faults-"))
        self.robot = ""
        self.variables = {
            "ROS_DOMAIN_ID": str(self.domain),
            "ROS_LOG_DIR": str(self.folder / "ros"),
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._processes: dict[str, NodeProcess] = {}

    def start(self, name: str) -> NodeProcess:
        """Start a node, after ending a running one of the same name."""
        spec = self._nodes[name]
        more = [f"robot:={self.robot}"] if spec.knows_robot else []
        if spec.executable in ("simulator", "composed"):
            more += [f"engine:={self._engine}"]
        self.end(name)
        log = self.folder / f"{name}.log"
        words = spec.words(name, tuple(more))
        process = NodeProcess(spec.module, spec.executable, words, self.variables, log)
        self._processes[name] = process
        return process

    def process(self, node: str) -> NodeProcess:
        """Return the process of a node."""
        return self._processes[node]

    def end(self, node: str) -> None:
        """Kill a node if it runs."""
        if node in self._processes:
            self._processes.pop(node).kill()

    def leave(self, node: str) -> None:
        """Ask a node to end, so that the others notice; a killed node counts for 20 s more."""
        process = self._processes.pop(node)
        process.signal(signal.SIGINT)
        if not process.wait(PATIENCE):
            process.kill()

    def said(self) -> str:
        """Return the last lines of each node's log."""
        texts = []
        for name, process in self._processes.items():
            lines = process.said().splitlines()[-3:]
            texts.append("\n".join([f"{name} ({process.status}):", *lines]))
        return "\n".join(texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of nodes that were started and not ended."""
        return tuple(self._processes)

    def numbers(self) -> tuple[int, ...]:
        """Return the process ids of the running nodes."""
        return tuple(process.number for process in self._processes.values() if process.running)

    def close(self) -> None:
        """End all processes, including those that hang."""
        for process in self._processes.values():
            process.signal(signal.SIGKILL)
        for node in tuple(self._processes):
            self.end(node)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._urgent.close()
        self._own.release()
