# SPDX-License-Identifier: Apache-2.0
"""Runs on one machine do not hear each other, and who looks for the one that lives finds it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import PATIENCE, processes_of, run, start  # noqa: E402

from diffbot_bringup import domains  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from marked_runs import summary  # noqa: E402
from meetings import LAUNCHES, Launch  # noqa: E402


@pytest.fixture
def unset(domain, tmp_path, monkeypatch):
    """A user who has chosen no domain, and has nothing else running."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID")


def own_domain(line):
    return int(re.fullmatch(r"\[INFO\] \[launch\]: domain (\d+) \(own; .*\)\n", line)[1])


def test_a_run_beside_another_is_not_met_and_echo_joins_the_one_that_lives(unset, tmp_path):
    lasting = start("pose", tmp_path / "a", "sim:=ideal", "speed:=1.0", "duration:=600.0")
    try:
        first = own_domain(lasting.stdout.readline())
        assert [run.domain for run in domains.runs()] == [first]
        words = ["echo", "/joint_states", "--once", "--timeout", str(PATIENCE)]
        echo = subprocess.run(
            [sys.executable, "-m", "diffbot_bringup.cli", *words], capture_output=True, text=True
        )
        assert echo.returncode == 0, echo.stderr
        assert "left_wheel_joint" in echo.stdout
        assert f"in domain {first} of the run pose" in echo.stderr
        status, output = run("pose", tmp_path / "b", "sim:=ideal", "duration:=1.0")
        assert status == 0, output
        second = own_domain(output.splitlines(keepends=True)[0])
        said = json.loads((tmp_path / "b" / "summary.json").read_text())
        assert (said["outcome"], said["duration"]) == ("completed", pytest.approx(1.0, abs=0.1))
        assert second != first
        assert lasting.poll() is None
        lasting.send_signal(signal.SIGINT)
        output, _ = lasting.communicate(timeout=PATIENCE)
        assert lasting.returncode == 130, output
    finally:
        if lasting.poll() is None:
            os.killpg(lasting.pid, signal.SIGKILL)
    assert processes_of(first) == processes_of(second) == []
    assert domains.runs() == []


@pytest.mark.parametrize(("name", "composed"), [("pose", "true"), ("linearizing", "false")])
def test_two_runs_in_one_domain_find_out_alone(domain, tmp_path, monkeypatch, name, composed):
    """As with `ros2 launch`: nobody refuses a second run, nobody ends the rest of one."""
    # So that neither is over before the other begins.
    more = ["speed:=1", f"composed:={composed}"]
    monkeypatch.setitem(LAUNCHES, name, [*LAUNCHES[name], *more])
    launches = [Launch(name, tmp_path / each, each, domain, nodes=True) for each in "ab"]
    # Separate nodes that are left alone wait for their partners as those of a real robot do; others
    # of the run that has failed have a moment to notice.
    deadline = time.monotonic() + 60.0
    while not all([launch.poll() for launch in launches]) and time.monotonic() < deadline:
        time.sleep(0.05)
        if composed == "false" and any(launch.status for launch in launches):
            # The other one may have 4 s to drive, and its report to write.
            deadline = min(deadline, time.monotonic() + 12.0)
    for launch in launches:
        launch.stop()
    said = "\n".join(launch.said for launch in launches)
    statuses = [launch.status if launch.ended else None for launch in launches]
    if composed == "true":
        assert None not in statuses, f"hung:\n{said}"
    assert any(statuses), said
    for launch, status in zip(launches, statuses, strict=True):
        result = summary(launch.results)
        # A run in several processes may complete, and miss what was sent while both were there.
        whole = result.get("outcome") == "completed" and result["complete"]
        assert whole is (status == 0), said
    assert "give each run its own ROS_DOMAIN_ID" in said or "stop all" in said
    assert processes_of(domain) == []
