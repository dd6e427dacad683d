# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, in a DDS domain of their own that does not leave this machine.

A user's robot is never met.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup import domains
from faults.process_nodes import NodeSpec
from faults.process_priority import urgent
from faults.process_server import NodeProcess

PATIENCE = 15.0  # s of wall time for anything that has to happen; a hang ends the row


class ProcessGroup:
    """The processes, by the nodes' names on the wire.

    Args:
        engine: of the simulator.
        nodes: who may be started, by name on the wire.

    Attributes:
        domain: of DDS.
        folder: for files of the run; it is removed at the end.
        robot: path of the robot's YAML that the nodes get.
        variables: of the processes' environment.
    """

    def __init__(self, engine: str, nodes: Mapping[str, NodeSpec]) -> None:
        self._own = domains.claim("faults")
        self.domain = self._own.domain
        # The server of the processes, their threads and this thread's own inherit it.
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
        """Start a node; one of its name that runs is ended first."""
        spec = self._nodes[name]
        more = [f"robot:={self.robot}"] if spec.knows_robot else []
        more += [f"engine:={self._engine}"] if spec.executable == "simulator" else []
        self.end(name)
        log = self.folder / f"{name}.log"
        words = spec.words(name, tuple(more))
        process = NodeProcess(spec.module, spec.executable, words, self.variables, log)
        self._processes[name] = process
        return process

    def process(self, node: str) -> NodeProcess:
        """The process of a node."""
        return self._processes[node]

    def end(self, node: str) -> None:
        """End a node at once, where it runs."""
        if node in self._processes:
            self._processes.pop(node).kill()

    def leave(self, node: str) -> None:
        """Ask a node to end, so that the others see it go: who is killed counts for 20 s more."""
        process = self._processes.pop(node)
        process.signal(signal.SIGINT)
        if not process.wait(PATIENCE):
            process.kill()

    def said(self) -> str:
        """The end of what each node has said."""
        texts = []
        for name, process in self._processes.items():
            lines = process.said().splitlines()[-3:]
            texts.append("\n".join([f"{name} ({process.status}):", *lines]))
        return "\n".join(texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Nodes that have been started and not been ended."""
        return tuple(self._processes)

    def numbers(self) -> tuple[int, ...]:
        """Process numbers of the nodes that run."""
        return tuple(process.number for process in self._processes.values() if process.running)

    def close(self) -> None:
        """End everything; whoever hangs, too."""
        for process in self._processes.values():
            process.signal(signal.SIGKILL)
        for node in tuple(self._processes):
            self.end(node)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._urgent.close()
        self._own.release()
