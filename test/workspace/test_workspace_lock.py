# SPDX-License-Identifier: Apache-2.0
"""Two set-ups of one checkout never run at the same time, and none changes what a run uses."""

import subprocess
import sys
import time

import pytest

from diffbot_bringup.workspace.entry import alone, checkout_lock, main
from diffbot_bringup.workspace.process import SetupError

HOLDER = """
import sys
from pathlib import Path
from diffbot_bringup.workspace.entry import checkout_lock
with checkout_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process


def test_the_second_says_that_it_waits_and_then_goes_on(tmp_path):
    path = tmp_path / ".diffbot" / "lock"
    first = hold(path)
    assert first.stdout.readline() == "held\n"
    second = hold(path)
    assert "waiting" in second.stderr.readline()
    first.communicate("")
    assert second.stdout.readline() == "held\n"
    second.communicate("")


@pytest.mark.wall_time
def test_a_child_that_outlives_its_parent_keeps_the_lock(tmp_path):
    path = tmp_path / "lock"
    with checkout_lock(path) as lock:
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            pass_fds=(lock,),
        )
    waiting = hold(path)
    assert "waiting" in waiting.stderr.readline()
    child.communicate(b"")
    start = time.monotonic()
    assert waiting.stdout.readline() == "held\n"
    assert time.monotonic() - start < 5
    waiting.communicate("")


# Becomes, as ./diffbot does, another program, which goes on holding the folder.
USER = """
import os, sys
from pathlib import Path
from diffbot_bringup.workspace.entry import hold
print(hold(Path(sys.argv[1])), flush=True)
words = ["-c", "import sys; sys.stdin.read()", "diffbot_bringup.cli", "launch", "ident", "seed:=3"]
os.execv(sys.executable, [sys.executable, *words])
"""


@pytest.fixture
def user():
    """Start who uses a folder."""
    made = []

    def start(folder):
        made.append(
            subprocess.Popen(
                [sys.executable, "-c", USER, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.communicate()


def refused(folder):
    """Why a folder cannot be changed."""
    with pytest.raises(SetupError) as error, alone(folder):
        pass
    return str(error.value)


def test_what_a_run_uses_is_not_changed_and_the_run_is_named(tmp_path, user):
    folder = tmp_path / "python3.11"
    first, second = user(folder), user(folder)
    assert [each.stdout.readline() for each in (first, second)] == ["True\n"] * 2
    while "seed:=3" not in refused(folder):  # until it has become the other program
        assert first.poll() is None
    text = refused(folder)
    assert text.startswith(f"{folder} must be changed but is in use by ")
    for each in (first, second):
        assert f"./diffbot launch ident seed:=3 (process {each.pid})" in text
        each.communicate("")
    with alone(folder):
        pass


def test_who_comes_while_it_is_changed_waits_and_looks_again(tmp_path, user):
    with alone(tmp_path):
        late = user(tmp_path)
        assert "waiting" in late.stderr.readline()
    assert late.stdout.readline() == "False\n"


def test_clean_removes_nothing_under_a_run(tmp_path, user, capsys):
    folder = tmp_path / ".diffbot" / "python3.11"
    process = user(folder)
    assert process.stdout.readline() == "True\n"
    assert main(tmp_path, ["clean"]) == 1
    assert f"(process {process.pid})" in capsys.readouterr().err
    assert folder.exists()
    process.communicate("")
    assert main(tmp_path, ["clean"]) == 0
    assert not (tmp_path / ".diffbot").exists()
