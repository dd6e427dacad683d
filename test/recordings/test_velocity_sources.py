# SPDX-License-Identifier: Apache-2.0
"""Commands and velocities that are not a robot's: of two nodes, of no sensor, of two clocks.

The robot is that of test_identify_velocity, 25 s: its fit takes each of them for values with
narrow intervals, up to 850 of their half widths off.
"""

import numpy as np
import pytest
from identify_command import identify
from made_recordings.recorded_bag import RecordedBag

from diffbot_description.sigma import Sigma
from diffbot_sim.velocity_robot import VelocityRobot

PERIOD, EVERY = 0.02, 5  # s; a command each so many samples
COLUMNS = ("time", "command_v", "command_w", "v", "w")


def drive(seed, dead_time=0.1, seconds=25.0, sigma=(0.3, 0.2, 1.05, 0.95)):
    """Rows of COLUMNS at 50 Hz; steps of 0.3 s to 1 s."""
    rng = np.random.default_rng(seed)
    robot = VelocityRobot(Sigma(*sigma), dead_time=dead_time)
    rows, command, left = [], (0.0, 0.0), 0
    for k in range(round(seconds / PERIOD)):
        if k % EVERY == 0:
            left -= 1
            if left <= 0:
                command, left = tuple(rng.uniform((-0.5, -1.0), (0.5, 1.0))), rng.integers(3, 10)
        measured = np.array(robot.velocity()) + (0.005, 0.01) * rng.normal(size=2)
        rows.append((1.0 + k * PERIOD, *command, *measured))
        robot.step(command, PERIOD)
    return np.array(rows)


def table(path, rows):
    lines = [",".join(f"{value:.9g}" for value in row) for row in rows]
    path.write_text("\n".join((",".join(COLUMNS), *lines)) + "\n")
    return path


def bag(folder, rows, other=None, late=0.0):
    """A bag of odometry and commands, with those of a second node between them, if any."""
    with RecordedBag(folder) as result:
        for k, (time, *command, v, w) in enumerate(rows):
            result.odometry("/odom", time, (v, w))
            if k % EVERY == 0:
                result.stamped_twist("/cmd_vel", time + 1e-4, tuple(command), time + 1e-4 + late)
            if other is not None and k % EVERY == 2:
                result.stamped_twist("/cmd_vel", time + 1e-4, other, time + 1e-4)
    return folder


@pytest.mark.parametrize("other", [(0.0, 0.0), (0.2, 0.1)])
def test_a_second_node_that_commands_is_named(tmp_path, capsys, other):
    """Before: gains of 1.9 +- 0.1 %, verified."""
    status, _ = identify(tmp_path, bag(tmp_path / "bag", drive(5), other))
    assert status == 2
    said = capsys.readouterr().err
    assert f"command_v jumps to {other[0]:.3g} m/s and back at once" in said
    assert "a second node publishes it" in said


@pytest.mark.parametrize(("column", "name"), [(1, "command_v"), (3, "v"), (4, "w")])
def test_readings_that_are_lost_and_logged_as_0_are_named(tmp_path, capsys, column, name):
    """Before: one in 31 made a gain of 0.92 of 0.95 with an interval of 0.6 %."""
    rows = drive(5)
    rows[3::31, column] = 0.0
    status, _ = identify(tmp_path, table(tmp_path / "log.csv", rows))
    assert status == 2 and f"{name} jumps to 0 " in capsys.readouterr().err


@pytest.mark.parametrize("late", [0, 5])
def test_odometry_that_is_computed_from_the_commands_is_named(tmp_path, capsys, late):
    rows = drive(5)
    rows[late:, 3:] = rows[: len(rows) - late, 1:3]
    status, _ = identify(tmp_path, table(tmp_path / "log.csv", rows))
    assert status == 2
    assert "v repeats command_v to the last digit" in capsys.readouterr().err


@pytest.mark.parametrize(("seed", "late"), [(5, 0.107), (6, 0.12), (6, 0.2)])
def test_a_robot_that_moves_before_its_command_has_two_clocks(tmp_path, seed, late):
    """Before: time constants 3 to 15 % wrong, with intervals of 1 to 3 %."""
    status, summary = identify(tmp_path, bag(tmp_path / "bag", drive(seed), late=late))
    assert status == 1 and summary["usable"] == "none"
    for axis in ("forward axis", "yaw axis"):
        assert f"{axis}: refused: the velocity changes" in summary["reason"]
    assert "before its command" in summary["reason"]


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("sigma", [(0.3, 0.2, 1.05, 0.95), (0.01, 0.01, 1.0, 1.0)])
def test_a_robot_without_a_dead_time_is_estimated(tmp_path, seed, sigma):
    """Of 8 axes none is refused: mere noise puts half of the best dead times below 0."""
    rows = drive(seed, dead_time=0.0, sigma=sigma)
    assert identify(tmp_path, table(tmp_path / "log.csv", rows))[0] == 0
