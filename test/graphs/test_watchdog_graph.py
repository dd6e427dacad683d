# SPDX-License-Identifier: Apache-2.0
"""The watchdog in the graphs of the launch files: there when asked for, and changing nothing."""

import os
import signal
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import CommandRecorder, processes_by_number, start  # noqa: E402

from diffbot_bringup.xml_launch.resolver import Resolver  # noqa: E402

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
