# SPDX-License-Identifier: Apache-2.0
"""Processes of check and of the guide that are killed, or meet Ctrl-C as they start."""

import signal
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")

from diffbot_check import start_command
from diffbot_check.moving_guard import MovingGuard


def test_a_guard_that_was_killed_is_noticed_and_can_be_closed(domain):
    guard = MovingGuard("commands", "std_msgs/msg/Float64MultiArray", 2)
    guard._process.kill()
    guard._process.wait()
    assert not guard.beat()
    guard.close()


def test_ctrl_c_ends_the_wait_for_a_driver_and_its_guard(domain):
    """Before, both waited for 30 s, and the guard then sent zeros to nobody."""
    guard = MovingGuard("commands", "std_msgs/msg/Float64MultiArray", 2)
    looks = iter([False] * 20 + [True])
    began = time.monotonic()
    assert not guard.is_ready(lambda: next(looks))
    assert time.monotonic() - began < 20.0
    guard._process.stdin.close()
    assert guard._process.wait(60.0) == 0
    guard._process.stdout.close()


def test_a_command_of_the_guide_takes_ctrl_c_once_it_can_end(tmp_path, monkeypatch):
    """Python prints a traceback of one that comes while it starts."""
    seen = tmp_path / "seen"
    program = tmp_path / "python"
    text = f"import signal; open({str(seen)!r}, 'w').write(str(signal.pthread_sigmask(0, ())))"
    # A shell would clear the mask of signals, and the first line takes no spaces.
    (tmp_path / "interpreter").symlink_to(sys.executable)
    program.write_text(f"#!{tmp_path}/interpreter\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setattr(start_command, "sys", SimpleNamespace(executable=str(program)))
    guide = SimpleNamespace(_console=SimpleNamespace(file=sys.stdout), _yes=False)
    assert start_command.TerminalGuide._run(guide, ["check"]) == 0
    assert "SIGINT" in seen.read_text()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
