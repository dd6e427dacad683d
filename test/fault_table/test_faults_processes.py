# SPDX-License-Identifier: Apache-2.0
"""Faults on real processes over DDS: some rows of the table, and what measures them."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy")

from faults import process_attack  # noqa: E402
from faults.process_limits import watchdog_killed  # noqa: E402
from faults.process_record import ZERO, Record  # noqa: E402
from faults.process_rows import ROWS, close  # noqa: E402
from faults.row import LONGEST_TIME_TO_ZERO, WATCHDOG_TIME_TO_ZERO  # noqa: E402

# The rows share a graph at real-time priority, which ends with the last test.
pytestmark = pytest.mark.real_time

# One of each kind; `./diffbot faults` runs all of them. Who is killed comes last: the graph is
# spent after that.
CHOSEN = (
    "pressed, released and enabled over DDS",
    "a foreign node commands, too",
    "SIGTERM of the controller",
    "NaN, over DDS",
    "kill -9 of the controller",
)
# Of a run in one process.
COMPOSED = (
    "emergency stop at full speed, wall time",
    "SIGTERM of the process",
    "exception inside the law, in one process",
    "exception in a node that does not command",
    "a second commander outside",
    "a second commander outside, at full speed",
    "a second source of joint states outside",
    "two runs in one domain",
)
BEGIN = 1000.0  # s since 1970


def recorded(torques):
    """A command each 10 ms from BEGIN on, and joint states half a period later that tell it."""
    record = Record(0.01)
    for index, torque in enumerate(torques):
        wall = BEGIN + 0.01 * index
        record.add_command(wall, torque)
        record.add_state(wall + 0.005, 0.01 * index, torque)
    return record


@pytest.fixture(scope="module")
def graph_closed():
    """The rows' graph ends with the module's tests, and none of its processes is left."""
    numbers = []
    yield numbers
    close()
    assert [number for number in numbers if alive(number)] == []


def alive(number):
    """Whether a process runs; one that has ended and that nobody has asked for does not."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.wall_time
@pytest.mark.parametrize("name", CHOSEN)
def test_a_row_with_real_processes_passes(name, domain, graph_closed):
    (row,) = [row for row in ROWS if row.name == name]
    verdict = row.judged("ideal")
    graph_closed += process_attack.shared("ideal").numbers() if "kill -9" not in name else ()
    assert verdict.passed, verdict.problems


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.wall_time if "wall time" in name else ())
        for name in COMPOSED
    ],
)
def test_a_row_of_a_run_in_one_process_passes(name, domain):
    (row,) = [row for row in ROWS if row.name == name]
    verdict = row.judged("ideal")
    assert verdict.passed, verdict.problems


def test_names_are_unique_and_only_the_watchdogs_rows_have_more_time():
    assert len({(row.group, row.name) for row in ROWS}) == len(ROWS) > 20
    assert {row.longest for row in ROWS} == {LONGEST_TIME_TO_ZERO, WATCHDOG_TIME_TO_ZERO}


def test_time_to_zero_is_until_the_last_torque_has_acted():
    record = recorded([(0.3, 0.3)] * 20 + [ZERO] * 20)
    measured = record.measure(BEGIN + 0.155, BEGIN + 0.4)
    # Zero is sent at 0.2 s; the state of 0.205 s is the first to tell zero.
    assert measured.time_to_zero == pytest.approx(0.045, abs=0.0051)
    assert measured.worst_torque == 0.3


def test_zero_that_does_not_last_is_none():
    record = recorded([(0.3, 0.3)] * 20 + [ZERO] * 10 + [(0.2, 0.0)])
    assert record.measure(BEGIN + 0.15, BEGIN + 0.4).time_to_zero is None
    assert record.measure(BEGIN + 0.15, BEGIN + 0.3).time_to_zero is not None


def test_nothing_sent_is_no_zero():
    record = recorded([(0.3, 0.3)] * 20)
    assert record.measure(BEGIN + 0.2, BEGIN + 0.4).time_to_zero is None


def test_a_torque_that_is_no_number_is_the_worst():
    record = recorded([(0.3, 0.3)] * 20 + [(math.nan, 0.0)] + [ZERO] * 5)
    assert math.isnan(record.measure(BEGIN + 0.1, BEGIN + 0.4).worst_torque)


def test_a_slow_robot_has_its_own_time():
    record = Record(0.01)
    for index in range(40):  # half as fast as real time
        record.add_state(BEGIN + 0.02 * index, 0.01 * index, ZERO)
    assert record.elapsed(BEGIN + 0.1, BEGIN + 0.3) == pytest.approx(0.1)


def test_a_simulation_that_begins_anew_is_measured_by_the_wall():
    record = recorded([ZERO] * 20)
    record.add_state(BEGIN + 0.5, 0.0, ZERO)
    record.add_state(BEGIN + 0.51, 0.01, ZERO)
    assert record.elapsed(BEGIN + 0.1, BEGIN + 0.505) == pytest.approx(0.405)


def hurry(torques):
    record = recorded([ZERO, *torques])  # the robot tells its time after the first command
    return record.hurry(10.0, BEGIN, BEGIN + 1.0)  # 0.1 N m in a period


def test_a_torque_at_the_rate_limit_is_on_time_and_zero_is_free():
    assert hurry([ZERO, (0.1, 0.0), (0.2, -0.1), ZERO, ZERO]) == pytest.approx(0.0, abs=1e-6)
    assert hurry([ZERO, (0.05, 0.0), (0.1, 0.05)]) == pytest.approx(-0.005, abs=1e-6)


def test_a_torque_beyond_the_rate_limit_is_early_by_the_time_that_it_takes():
    assert hurry([ZERO, (0.1, 0.0), (0.1, 0.25)]) == pytest.approx(0.015, abs=1e-6)
    # Twice as fast as allowed, up and down: each step makes it earlier by a period.
    assert hurry([ZERO, (0.2, 0.0), (0.4, 0.0), (0.6, 0.0)]) == pytest.approx(0.03, abs=1e-6)
    assert hurry([ZERO, (0.6, 0.0), (0.4, 0.0)]) == pytest.approx(0.05, abs=1e-6)
    record = recorded([ZERO, (0.6, 0.0), (0.4, 0.0), (0.2, 0.0)])
    assert record.hurry(10.0, BEGIN + 0.015, BEGIN + 1.0) == pytest.approx(0.02, abs=1e-6)


def test_commands_that_come_together_are_early_by_their_period():
    record = recorded([ZERO, ZERO, (0.1, 0.1)])
    record.add_command(BEGIN + 0.0201, (0.2, 0.2))
    assert record.hurry(10.0, BEGIN, BEGIN + 1.0) == pytest.approx(0.0099, abs=1e-6)


KILLED = """
import sys, time
from faults.process_nodes import NODES
from faults import process_server
from pathlib import Path
process_server.PRELOADED = ()  # cheaper for one node
if __name__ == "__main__":
    spec = NODES["trajectory_publisher"]
    words, log = spec.words("t", ()), Path(sys.argv[1])
    process = process_server.NodeProcess(spec.module, spec.executable, words, {}, log)
    print(process.number, flush=True)
    time.sleep(60.0)
"""


def test_a_command_that_is_killed_outright_leaves_no_process(tmp_path, domain):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(tmp_path / "log")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        number = int(process.stdout.readline())
        assert alive(number)
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10.0
    while alive(number) and time.monotonic() < end:
        time.sleep(0.02)
    assert not alive(number)


def test_without_the_watchdog_the_last_torque_stays_on(domain, graph_closed):
    """The known limit, and proof that a missing zero is noticed."""
    alone, first = watchdog_killed("ideal")
    assert alone.time_to_zero is None
    assert alone.worst_torque > 0.0
    assert first <= 1.0
