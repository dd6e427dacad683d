"""The watchdog in the graphs of the launch files: there when asked for, and changing nothing."""

import os
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import CommandRecorder  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_bringup.xml_launch import Resolver  # noqa: E402
from diffbot_ident.ident_node import IdentNode  # noqa: E402
from diffbot_node import seconds  # noqa: E402
from diffbot_node.effort_watchdog_node import EffortWatchdogNode  # noqa: E402
from diffbot_sim.simulator_node import SimulatorNode  # noqa: E402

LAUNCHES = ("ident", "backstepping", "pose", "linearizing")
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
    lines = [str(process) for process in resolver.processes]
    assert sum("/effort_watchdog " in line for line in lines) == watched
    # Only who commands is told to command the watchdog; reports listen where the wheels do.
    remapped = [line for line in lines if REMAPPED in line]
    assert len(remapped) == watched
    assert all("/ident " in line or "_controller " in line for line in remapped)


def identify(folder, watched):
    """What reached the wheels in 1.5 s of lock-step, and the wheels' angles by their stamps."""
    settings = ["results:=" + str(folder), "duration:=1.5", "verification:=0.0", "listeners:=0"]
    settings += ["engine:=ideal", "seed:=3", "torque_noise:=0.01", "use_sim_time:=true"]
    words = [word for setting in settings for word in ("-p", setting)]
    if watched:
        words += ["-r", f"ident:{REMAPPED}"]
    rclpy.init(args=["--ros-args", *words])
    recorder, executor, angles = CommandRecorder(), SingleThreadedExecutor(), {}

    def on_state(message):
        stamp = seconds(message.header.stamp)
        if stamp < 1.5:  # what comes after the end depends on who leaves first
            angles[stamp] = tuple(message.position)

    recorder.node.create_subscription(JointState, "joint_states", on_state, 100)
    ident = IdentNode()
    nodes = [SimulatorNode(), ident, *([EffortWatchdogNode()] if watched else [])]
    for node in nodes:
        executor.add_node(node)
    end = time.monotonic() + 60.0
    while ident.exit_code is None and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.01)
        recorder.executor.spin_once(timeout_sec=0.0)
    recorder.spin(lambda: len(recorder.commands) >= 150 and len(angles) == 150, timeout=5.0)
    for node in nodes:
        executor.remove_node(node)
        node.destroy_node()
    executor.shutdown()
    rclpy.shutdown()
    recorder.close()
    return ident.exit_code, recorder.commands[:150], angles


def test_in_lock_step_the_watchdog_changes_nothing(tmp_path, domain):
    plain = identify(tmp_path / "plain", watched=False)
    status, commands, angles = plain
    assert status == 0 and len(commands) == len(angles) == 150
    assert any(map(any, commands)) and any(map(any, angles.values()))
    assert identify(tmp_path / "watched", watched=True) == plain
