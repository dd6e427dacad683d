# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers from command lines and parameter files, through ROS itself."""

import subprocess
import sys

import pytest

rclpy = pytest.importorskip("rclpy")

NODE = """
from dataclasses import astuple, dataclass
from rclpy.node import Node
from diffbot_node import declare, parameter, run_node

@dataclass(frozen=True)
class Own:
    a: tuple[float, ...] = parameter((), "a list", above=0.0)
    b: tuple[float, ...] = parameter((7.0, 8.0), "another")

class Lists(Node):
    def __init__(self):
        super().__init__("lists")
        print(astuple(declare(self, Own)))
        self.exit_code = 0

    def close(self):
        pass

raise SystemExit(run_node(Lists))
"""


def run(*words):
    return subprocess.run(
        [sys.executable, "-c", NODE, "--ros-args", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ([], "((), (7.0, 8.0))"),
        (["-p", "a:=[]", "-p", "b:=[]"], "((), ())"),
        (["-p", "a:=[1, 2]", "-p", "b:=[-1.5]"], "((1.0, 2.0), (-1.5,))"),
        (["-p", 'a:="[1, 2.5]"'], "((1.0, 2.5), (7.0, 8.0))"),
    ],
)
def test_command_line(words, printed):
    ended = run(*words)
    assert (ended.returncode, ended.stdout.strip()) == (0, printed), ended.stderr


def test_parameter_file(tmp_path):
    path = tmp_path / "lists.yaml"
    path.write_text("/**:\n  ros__parameters:\n    a: [1.0, 2.5]\n    b: []\n")
    assert run("--params-file", str(path)).stdout.strip() == "((1.0, 2.5), ())"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("a:=[1, 2.5]", "write a decimal point in each number, or the list as text"),
        ("a:=[1.0, -2.0]", "'a[1]' = -2.0: must be finite and > 0 (a list)"),
        ("b:=[1.0, .nan]", "'b[1]' = nan: must be finite (another)"),
        ("b:=3.0", "'b' = 3.0: must be a list of numbers"),
    ],
)
def test_what_is_wrong_is_a_sentence(word, message):
    ended = run("-p", word)
    assert ended.returncode == 1
    assert message in ended.stderr and "Traceback" not in ended.stderr
