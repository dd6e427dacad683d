"""Two set-ups of one checkout never run at the same time."""

import subprocess
import sys
import time

from diffbot_bringup.workspace.checkout_lock import CheckoutLock

HOLDER = """
import sys
from pathlib import Path
from diffbot_bringup.workspace.checkout_lock import CheckoutLock
with CheckoutLock(Path(sys.argv[1])):
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


def test_a_child_that_outlives_its_parent_keeps_the_lock(tmp_path):
    path = tmp_path / "lock"
    with CheckoutLock(path) as lock:
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            pass_fds=(lock.descriptor,),
        )
    waiting = hold(path)
    assert "waiting" in waiting.stderr.readline()
    child.communicate(b"")
    start = time.monotonic()
    assert waiting.stdout.readline() == "held\n"
    assert time.monotonic() - start < 5
    waiting.communicate("")
