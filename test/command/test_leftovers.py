# SPDX-License-Identifier: Apache-2.0
"""What killed launches leave behind is removed, and nothing else."""

import os
import subprocess
import sys
import tempfile

import pytest

from diffbot_bringup import leftovers

LAUNCH = """
import os, sys
from diffbot_bringup.leftovers import temporary_folder
with temporary_folder() as folder:
    (folder / "parameters.yaml").touch()
    if os.fork() == 0:
        sys.stdin.read()  # as the guard, which outlives the runner
        os._exit(0)
    print(folder, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_of_a_killed_launch_goes_once_its_guard_has_ended(temporary):
    launch = subprocess.Popen(
        [sys.executable, "-c", LAUNCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    folder = launch.stdout.readline().strip()
    leftovers.sweep()
    assert os.path.exists(f"{folder}/parameters.yaml")
    launch.communicate(timeout=60)  # until the guard, too, has closed its output
    leftovers.sweep()
    assert list(temporary.iterdir()) == []


def test_the_folder_of_an_active_launch_and_foreign_ones_stay(temporary):
    foreign = temporary / "other-launch-x"
    foreign.mkdir()
    link = temporary / f"{leftovers.PREFIX}link"
    link.symlink_to(foreign)
    made = temporary / f"{leftovers.PREFIX}just_made"
    made.mkdir()
    with leftovers.temporary_folder() as own:
        leftovers.sweep()
        assert {*temporary.iterdir()} == {foreign, link, made, own}
    leftovers.sweep()
    assert {*temporary.iterdir()} == {foreign, link, made}
    os.utime(made, (0.0, 0.0))
    leftovers.sweep()
    assert {*temporary.iterdir()} == {foreign, link}


def test_half_written_results_of_processes_that_are_gone_are_removed(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    runs = [tmp_path / name for name in ("first", "second")]
    for run in runs:
        run.mkdir()
    kept = [runs[0] / ".run", runs[0] / f".path.{os.getpid()}.png", runs[1] / "a.1.png"]
    for path in (*kept, runs[0] / f".summary.{gone.pid}.json", runs[1] / f".drive.{gone.pid}.gif"):
        path.touch()
    leftovers.sweep_results(runs[1])
    assert {path for run in runs for path in run.iterdir()} == {*kept}


def test_the_oldest_logs_of_a_checkout_are_removed(tmp_path, monkeypatch):
    logs = tmp_path / ".diffbot" / "log" / "ros"
    logs.mkdir(parents=True)
    for number in range(6):
        path = logs / f"node_{number}.log"
        if number % 2:
            path.mkdir()
            (path / "launch.log").touch()
        else:
            path.touch()
        os.utime(path, (number, number))
    leftovers.prune_logs(logs, kept=2)  # in no checkout
    assert len(list(logs.iterdir())) == 6
    monkeypatch.setenv("DIFFBOT_ROOT", str(tmp_path))
    leftovers.prune_logs(logs, kept=2)
    assert {path.name for path in logs.iterdir()} == {"node_4.log", "node_5.log"}
