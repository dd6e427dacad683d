# SPDX-License-Identifier: Apache-2.0
"""A graph under `ros2 launch`, which watches no node, ends when one of its nodes cannot begin.

Here, as there, the processes of the launch file are started and left to themselves.
"""

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from launched import PATIENCE

from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_node.launch_supervision import VARIABLE

LAUNCH_FILES = Path(__file__).resolve().parents[2] / "diffbot_bringup" / "launch"


@pytest.mark.parametrize(
    ("name", "argument", "value", "node", "status", "why"),
    [
        ("ident", "duration", "-5.0", "ident", 1, "parameter 'duration' = -5.0"),
        ("backstepping", "goal", "1,here,0", "pose_step", 2, "y = 'here' must be a "),
    ],
)
def test_it_ends_when_a_node_refuses_its_arguments(
    name, argument, value, node, status, why, domain, tmp_path
):
    variables = {key: text for key, text in os.environ.items() if key != VARIABLE}
    resolver = Resolver(variables)
    given = {argument: value, "sim": "ideal", "composed": "false", "report": "html"}
    results = tmp_path / "results"
    resolver.file(LAUNCH_FILES / f"{name}.launch.xml", [*given.items(), ("results", str(results))])
    processes, said = {}, {}
    try:
        for described in resolver.processes:
            folder = tmp_path / described.name
            folder.mkdir()
            said[described.name] = folder / "said"
            with said[described.name].open("wb") as file:
                processes[described.name] = subprocess.Popen(
                    described.arguments(folder),
                    env=described.environment,
                    stdout=subprocess.DEVNULL,
                    stderr=file,
                )
        # Their patience, after which they would end by themselves, is longer than PATIENCE.
        ended = {each: p.wait(timeout=PATIENCE) for each, p in processes.items()}
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    (refusing,) = (each for each in said if each.rpartition("-")[0] == node)
    assert ended == {**dict.fromkeys(ended, 1), refusing: status}
    assert why in said.pop(refusing).read_text()
    for path in said.values():
        assert f"failed: {node} (exit code {status}): " in path.read_text()
        assert why in path.read_text()
