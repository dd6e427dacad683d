# SPDX-License-Identifier: Apache-2.0
"""What executables start is there."""

import ast
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diffbot_bringup.workspace.packages import find_packages

pytest.importorskip("rclpy")

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    package.name: package.path / package.name / "executables.py" for package in find_packages(ROOT)
}
STARTED = sorted(
    tuple(ast.literal_eval(argument) for argument in node.args[:2])
    for path in MODULES.values()
    if path.is_file()
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Executable"
)


@pytest.mark.parametrize(("module", "name"), STARTED)
def test_what_an_executable_starts_is_there(module, name):
    assert callable(getattr(importlib.import_module(module), name))


def test_all_are_checked():
    assert len(STARTED) >= 19


def test_the_launch_knows_which_packages_let_ctrl_c_through():
    """It keeps it back from these while Python starts; others would never hear it."""
    from diffbot_bringup.xml_launch.processes import _OUR_PACKAGES

    assert sorted(_OUR_PACKAGES) == sorted(name for name in MODULES if MODULES[name].is_file())


def press_early():
    """Ctrl-C before Python has started, kept back as ./diffbot and its runner do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    os.kill(os.getpid(), signal.SIGINT)


CODE = "from {0}.executables import {1}; print('not reached', {1}())"


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "diffbot_bringup.cli", "--help"),
        *(
            ("-c", CODE.format(package, name))
            for package, name in (
                ("diffbot_ident", "ident"),
                ("diffbot_recordings", "identify"),
                ("diffbot_calibration", "calibrate"),
                ("diffbot_calibration", "calibrate_node"),
                ("diffbot_node", "effort_watchdog"),
            )
        ),
    ],
)
def test_ctrl_c_while_python_starts_leaves_no_traceback(arguments):
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=press_early,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
