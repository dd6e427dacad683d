# SPDX-License-Identifier: Apache-2.0
"""``diffbot echo``: the expected texts were printed by the real ``ros2 topic echo``."""

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402

from diffbot_bringup import cli, domains  # noqa: E402
from diffbot_bringup.topic_echo import matching_profile, to_yaml  # noqa: E402


def shown(message: Any) -> str:
    return f"{to_yaml(message)}---"


def joint_state() -> JointState:
    message = JointState(
        name=["left", "right"],
        position=[1.0, math.nan],
        velocity=[math.inf, -0.0],
        effort=[1e-7, 1e22],
    )
    message.header.stamp.sec = 3
    message.header.frame_id = "ö: #x"
    return message


def test_yaml() -> None:
    assert (
        shown(joint_state())
        == """\
header:
  stamp:
    sec: 3
    nanosec: 0
  frame_id: 'ö: #x'
name:
- left
- right
position:
- 1.0
- .nan
velocity:
- .inf
- -0.0
effort:
- 1.0e-07
- 1.0e+22
---"""
    )


def test_marks_of_the_writing_direction_are_shown() -> None:
    assert to_yaml(String(data="a\u202eb")) == "data: a\\u202eb\n"


def test_bytes_and_nested_messages() -> None:
    status = DiagnosticStatus(level=b"\x01", name="n", values=[KeyValue(key="k", value="v")])
    assert shown(DiagnosticArray(status=[status])).endswith(
        """
status:
- level: "\\x01"
  name: n
  message: ''
  hardware_id: ''
  values:
  - key: k
    value: v
---"""
    )


def test_long_arrays_and_texts_are_cut_at_128() -> None:
    lines = shown(Float64MultiArray(data=[0.5] * 129)).splitlines()
    assert lines.count("- 0.5") == 128
    assert lines[-2:] == ["- '...'", "---"]
    assert shown(String(data="x" * 129)) == f"data: {'x' * 128}...\n---"


def test_fixed_arrays_are_numbers_of_numpy() -> None:
    assert "  - 0.0\n" in shown(Odometry())


def test_profile_is_the_strongest_that_all_publishers_offer() -> None:
    lasting = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    fleeting = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    alone = matching_profile([lasting])
    assert alone.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert alone.reliability == ReliabilityPolicy.RELIABLE
    both = matching_profile([lasting, fleeting])
    assert both.durability == DurabilityPolicy.VOLATILE
    assert both.reliability == ReliabilityPolicy.BEST_EFFORT


@pytest.fixture
def latched() -> Iterator[str]:
    """A topic whose only message was sent before anybody listened."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("publisher", context=context, enable_rosout=False)
    profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "/latched", profile).publish(String(data="kept"))
    yield "/latched"
    node.destroy_node()
    context.try_shutdown()


def echo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "diffbot_bringup.cli", "echo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_a_message_sent_before_is_printed(latched: str) -> None:
    result = echo("latched", "--once", "--timeout", "20")
    assert (result.returncode, result.stdout) == (0, "data: kept\n---\n"), result.stderr


def test_timeout_lists_the_topics_that_exist(latched: str) -> None:
    result = echo("/other", "--timeout", "3.5")
    assert result.returncode == 1
    assert "no node publishes /other within 3.5 s; topics that exist:" in result.stderr
    assert "\n  /latched\n" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/a", "nope/Nope"], "message type 'nope/Nope' not found"),
        (["/a b\x1b[2J"], r"no topic can have the name /a b\x1b[2J"),
        (["/a", "String"], "'String' is not a message type"),
        (["/a", "--timeout", "-1"], "-1 s is not a positive time"),
        ([], "TOPIC"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["echo", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_run_that_lives_is_joined_and_of_several_none(
    domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID")
    with domains.claim("ident", launch=True) as own:
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=own.domain)
        node = rclpy.create_node("publisher", context=context, enable_rosout=False)
        profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_publisher(String, "/latched", profile).publish(String(data="kept"))
        result = echo("/latched", "--once", "--timeout", "20")
        assert (result.returncode, result.stdout) == (0, "data: kept\n---\n"), result.stderr
        # On a busy machine it says next that it waits for the publisher.
        said = result.stderr.splitlines()
        assert said[0] == f"diffbot echo: in domain {own.domain} of the run ident"
        assert set(said[1:]) <= {"diffbot echo: waiting for a publisher of /latched"}
        node.destroy_node()
        context.try_shutdown()
        with domains.claim("pose", launch=True) as other:
            result = echo("/latched", "--once", "--timeout", "20")
    assert (result.returncode, result.stdout) == (2, "")
    first, *listed, last = result.stderr.splitlines()
    assert first.startswith("diffbot echo: several runs are active; set ROS_DOMAIN_ID")
    assert {line.split(",")[0].strip() for line in listed} == {
        f"domain {own.domain}: ident",
        f"domain {other.domain}: pose",
    }
    assert last == "for example: ROS_DOMAIN_ID=N ./diffbot echo /latched"
