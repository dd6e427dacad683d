# SPDX-License-Identifier: Apache-2.0
"""Commands implemented by the tools: one function each, named like the command.

This folder is the front door: the only one of the core that imports tools, when a command is
called.

Each takes the arguments after the command's name and returns the exit status. The modules of a
command are imported when it is called: some load slowly, and --help needs none of them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from diffbot_bringup.usage import need_ros


def describe(argv: list[str]) -> int:
    """Make a robot file from a URDF or xacro file; 0, or 2 for a file that cannot be described."""
    from diffbot_description.describe_command import main

    return main(argv, "diffbot describe")


def export(argv: list[str]) -> int:
    """Write results as files for other software; 0, or 2 for what cannot be exported."""
    from diffbot_export.command import main

    return main(argv, "diffbot export")


def identify(argv: list[str]) -> int:
    """Identify a robot's dynamics from recordings; 0: result usable, 1: not usable, 2: usage."""
    from diffbot_recordings.identify import main

    return main(argv, "diffbot identify")


def calibrate(argv: list[str]) -> int:
    """Calibrate radii and track, by recordings or tape; see diffbot_calibration.command."""
    from diffbot_calibration.command import main

    return main(argv, "diffbot calibrate")


def check(argv: list[str]) -> int:
    """Look at a robot before it moves; 0: ready, 1: something is missing, 2: usage."""
    from diffbot_bringup import domains
    from diffbot_check.command import main

    def join() -> None:
        need_ros()
        domains.join_launch("check")

    return main(argv, "diffbot check", join)


def start(argv: list[str]) -> int:
    """Lead through a robot's first ten minutes; 0: complete, 1: left before, 2: usage."""
    from diffbot_bringup import domains
    from diffbot_check.start_command import main

    @contextlib.contextmanager
    def claim(name: str) -> Iterator[None]:
        with domains.claim(name) as own:
            os.environ[domains.VARIABLE] = str(own.domain)
            yield

    need_ros()
    return main(argv, "diffbot start", claim)


def study(argv: list[str]) -> int:
    """Run many robots, settings and seeds; 0: complete, 3: tasks failed, 2: usage."""
    from diffbot_study.study import main

    return main(argv, "diffbot study")


def simulate(argv: list[str]) -> int:
    """Simulate a whole run without ROS; 0: completed, 1: failed, 2: usage."""
    from diffbot_study.simulate import main

    return main(argv, "diffbot simulate")


def fleet(argv: list[str]) -> int:
    """Analyse recordings of many robots; 0: each has a row, 3: tasks failed, 2: other errors."""
    from diffbot_study.fleet import main

    return main(argv, "diffbot fleet")


def bench(argv: list[str]) -> int:
    """Score estimators on records of robots whose truth is known; 0, or 2 for a wrong argument."""
    from diffbot_bench.command import main

    return main(argv, "diffbot bench")


def faults(argv: list[str]) -> int:
    """Run the fault table, which is a package of the tests: test/faults in the checkout."""
    root = os.environ.get("DIFFBOT_ROOT", "")
    if not root:
        print("diffbot faults: run it as ./diffbot faults in the checkout", file=sys.stderr)
        return 2
    sys.path.insert(0, str(Path(root) / "test"))
    from faults.command import main

    return int(main(argv))


def python(argv: list[str]) -> int:
    """Become Python with the suite and its tests importable; does not return."""
    folders = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    if root := os.environ.get("DIFFBOT_ROOT"):
        os.environ["PYTHONPATH"] = os.pathsep.join([*folders, str(Path(root) / "test")])
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *argv])
