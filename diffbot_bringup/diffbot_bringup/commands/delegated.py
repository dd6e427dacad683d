# SPDX-License-Identifier: Apache-2.0
"""Commands implemented by the tools: functions of the arguments, named like the commands.

This folder is the front door: the only one of the core that imports tools, when one is called, as
some load slowly.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from diffbot_bringup.usage import need_ros


def _of_tool(module: str, name: str) -> Callable[[list[str]], int]:
    """Return the command that a module's `main` implements."""

    def run(argv: list[str]) -> int:
        return int(import_module(module).main(argv, f"diffbot {name}"))

    return run


describe = _of_tool("diffbot_description.describe_command", "describe")
export = _of_tool("diffbot_export.command", "export")
identify = _of_tool("diffbot_recordings.identify", "identify")
calibrate = _of_tool("diffbot_calibration.command", "calibrate")
study = _of_tool("diffbot_study.study", "study")
simulate = _of_tool("diffbot_study.simulate", "simulate")
fleet = _of_tool("diffbot_study.fleet", "fleet")
bench = _of_tool("diffbot_bench.command", "bench")


def _joining(module: str, name: str) -> Callable[[list[str]], int]:
    """Return the command of a module whose `main` joins the domain of a running launch."""

    def run(argv: list[str]) -> int:
        from diffbot_bringup import domains

        def join() -> None:
            need_ros()
            domains.join_launch(name)

        return int(import_module(module).main(argv, f"diffbot {name}", join))

    return run


check = _joining("diffbot_check.command", "check")
apply = _joining("diffbot_check.apply_command", "apply")


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
