# SPDX-License-Identifier: Apache-2.0
"""The watchdog in the graphs of the launch files: there when asked for, and changing nothing."""

import os
import signal
import time
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import CommandRecorder, processes_by_number, start  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_bringup.xml_launch.resolver import Resolver  # noqa: E402
from diffbot_ident.ident_node import IdentNode  # noqa: E402
from diffbot_node import seconds  # noqa: E402
from diffbot_node.effort_watchdog_node import EffortWatchdogNode  # noqa: E402
from diffbot_sim.simulator_node import SimulatorNode  # noqa: E402

LAUNCHES = ("ident", "backstepping", "pose", "linearizing", "adaptive")
REMAPPED = "effort_controller/commands:=effort_watchdog/commands"


@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize(
    ("arguments", "watched"),
    [
        ({"sim": "none"}, True),
        ({"sim": "ideal"}, False),
        ({"sim": "none", "watchdog": "false"}, False),
        ({"sim": "ideal", "watchdog": "true"}, True),
        ({"sim": "ideal", "watchdog": "True"}, True),
    ],
)
def test_the_watchdog_guards_robots_and_simulations_that_ask_for_it(
    pytestconfig, name, arguments, watched
):
    resolver = Resolver(os.environ)
    path = pytestconfig.rootpath / "launch" / f"{name}.launch.xml"
    resolver.file(path, {**arguments, "results": "results/x"}.items())
    programs = {Path(process.command[0]).name: str(process) for process in resolver.processes}
    assert ("effort_watchdog" in programs) == watched
    # Only who commands is told to command the watchdog; reports listen where the wheels do.
    remapped = [program for program, line in programs.items() if REMAPPED in line]
    assert len(remapped) == watched
    assert all(program == "ident" or program.endswith("_controller") for program in remapped)


def angles_of_a_run(folder, watched):
    """The wheels' angles by their stamps in the first 1.5 s of an identification in lock-step."""
    settings = ["results:=" + str(folder), "duration:=1.5", "verification:=0.0", "listeners:=0"]
    settings += ["engine:=ideal", "seed:=3", "torque_noise:=0.01", "use_sim_time:=true"]
    words = [word for setting in settings for word in ("-p", setting)]
    if watched:
        words += ["-r", f"ident:{REMAPPED}"]
    rclpy.init(args=["--ros-args", *words])
    executor, angles = SingleThreadedExecutor(), {}

    def on_state(message):
        stamp = seconds(message.header.stamp)
        if stamp < 1.5:  # what comes after the end depends on who leaves first
            angles[stamp] = tuple(message.position)

    observer = rclpy.create_node("observer")
    observer.create_subscription(JointState, "joint_states", on_state, 1000)
    nodes = [observer, SimulatorNode()]
    for node in nodes:
        executor.add_node(node)
    spin_until(executor, lambda: angles)  # nothing is missed from here on
    nodes += [IdentNode(), *([EffortWatchdogNode()] if watched else [])]
    for node in nodes[2:]:
        executor.add_node(node)
    spin_until(executor, lambda: nodes[2].exit_code is not None and len(angles) >= 150)
    for node in nodes:
        executor.remove_node(node)
        node.destroy_node()
    executor.shutdown()
    rclpy.shutdown()
    return angles


def spin_until(executor, condition):
    end = time.monotonic() + 60.0
    while not condition() and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)


def test_in_lock_step_the_watchdog_changes_nothing(tmp_path, domain):
    plain = angles_of_a_run(tmp_path / "plain", watched=False)
    assert len(plain) == 150 and max(map(abs, plain[1.0])) > 0.1
    assert angles_of_a_run(tmp_path / "watched", watched=True) == plain


def test_when_the_watchdog_is_killed_the_wheels_get_zero(tmp_path, domain):
    """Nobody passes the last zero of the controller on then."""
    wheels = CommandRecorder()
    process = start(
        "backstepping", tmp_path, "sim:=ideal", "watchdog:=true", "speed:=1.0", "duration:=600.0"
    )
    try:
        assert wheels.spin(lambda: any(map(any, wheels.commands)))
        (number,) = (pid for pid, words in processes_by_number(domain) if "watchdog --ros" in words)
        os.kill(number, signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 1, output
        assert "zero torque sent directly to /effort_controller/commands" in output
        # What came while nobody looked is read first.
        assert wheels.spin(lambda: wheels.commands[-1] == (0.0, 0.0)), wheels.commands
        wheels.spin(lambda: False, timeout=0.3)
        assert wheels.commands[-1] == (0.0, 0.0)
    finally:
        process.kill()
        wheels.close()
