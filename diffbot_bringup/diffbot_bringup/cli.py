# SPDX-License-Identifier: Apache-2.0
"""The commands of `diffbot`, and the dispatch to them inside an environment.

Standard library only at the top: ./diffbot reads the table before any environment exists.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it without a word until it can end cleanly.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))

import gc
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from diffbot_bringup.usage import UsageError, check_one_of, missing_extra, need_ros
from diffbot_description.suite_version import suite_version
from diffbot_description.terminal_text import complain, printable_lines, refusal_of_machine

BROKEN_PIPE = 128 + 13  # SIGPIPE, which Windows does not have


@dataclass(frozen=True)
class Command:
    """One command of the `diffbot` script.

    It is implemented by `main` of the module in commands/ with its name or, if delegated, by the
    function with its name in commands/delegated.py. Commands of the set-up have neither.
    """

    name: str
    usage: str
    summary: str
    delegated: bool = False
    of_setup: bool = False
    needs_ros: bool = False

    def run(self, argv: list[str]) -> int:
        """Run the command with these arguments; return the exit status.

        Raises:
            UsageError: What is wrong with them.
            SystemExit: argparse has printed the help, or what is wrong.
        """
        if self.needs_ros:
            need_ros()
        if self.delegated:
            module, function = "delegated", self.name
        else:
            module, function = self.name, "main"
        implementation = importlib.import_module(f"diffbot_bringup.commands.{module}")
        return int(getattr(implementation, function)(argv))


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "launch",
            "NAME [ARGUMENT:=VALUE ...] [--show-args]",
            "run a launch file: launch NAME [ARG:=VALUE ...]; without NAME, list them",
            needs_ros=True,
        ),
        Command(
            "run",
            "PACKAGE EXECUTABLE [ARGUMENTS ...]",
            "run one node: run PACKAGE EXECUTABLE [ARGS, e.g. --ros-args -p speed:=0.5]",
            needs_ros=True,
        ),
        Command(
            "echo",
            "TOPIC [--once]",
            "print the messages of a topic: echo TOPIC [TYPE] [--once]",
            needs_ros=True,
        ),
        Command(
            "view",
            "[RESULTS ...|RECORDING] [--help]",
            "show in the browser: the active run, results (several: compared), or a recording",
        ),
        Command(
            "start",
            "[FOLDER] [--browser | --terminal] [--rehearse [--robot NAME] [--fault NAME]] [--help]",
            "the first robot, step by step: connect, describe, check, identify, drive, export",
            delegated=True,
            needs_ros=True,
        ),
        Command(
            "check",
            "[RECORDING] [robot:=FILE] [--moving] [--seconds S] [--json] [--help]",
            "before anything moves: what is there of a robot, what each task needs, what to type",
            delegated=True,
        ),
        Command(
            "identify",
            "FILE [FILE ...] [OPTIONS]",
            "identify a robot from a recording: rosbag2, CSV or SysId; --help lists all options",
            delegated=True,
        ),
        Command(
            "calibrate",
            "RECORDING ... | --umbmark --side M --cw X,Y ... --ccw X,Y ... [OPTIONS]",
            "calibrate wheel radii and track: a gyro, a pose source or a tape; --help lists all",
            delegated=True,
        ),
        Command(
            "describe",
            "FILE [NAME:=VALUE ...] [--wheels LEFT RIGHT] [--output FILE.yaml]",
            "make a robot file from a URDF or xacro file; --help lists all options",
            delegated=True,
        ),
        Command(
            "export",
            "RESULTS [...] --to TARGET --output DIR",
            "write results for ros2_control, Nav2, robot_localization, URDF, SDF, MJCF or WPILib",
            delegated=True,
        ),
        Command(
            "apply",
            "FILE [--node [SECTION:=]NAME] [--yes] [--back]",
            "give exported or proposed values to running controllers, with a way back",
            delegated=True,
        ),
        Command(
            "simulate",
            "ident|drive [ARGUMENT:=VALUE ...] [--help]",
            "identify or drive a simulated robot without ROS: report and recording",
            delegated=True,
        ),
        Command(
            "study",
            "NAME|FILE.yaml [--workers N] [--scheduler tcp://HOST:PORT] [--output DIR]",
            "run many robots, settings and seeds; ready-made: encoders, excitation, ... (--help)",
            delegated=True,
        ),
        Command(
            "fleet",
            "FOLDER|GLOB [...] --output DIR [--names FILE.csv] [--robot NAME]",
            "analyse a fleet's recordings: which robots are unlike the others, and why",
            delegated=True,
        ),
        Command(
            "bench",
            "[--estimator NAME|FILE.py:FUNCTION ...] [--tasks TEXT ...] --output DIR",
            "score estimators, yours too, on records of robots whose truth is known: a leaderboard",
            delegated=True,
        ),
        Command(
            "reproduce",
            "[PAPER ...] [--output DIR]",
            "compute the tables and figures of the papers; compare published with own values",
        ),
        Command(
            "faults",
            "[--engine ideal|mujoco|gazebo] [--row TEXT] [--list] [--output DIR]",
            "inject faults into the nodes: table of times to zero torque and peak torques",
            delegated=True,
        ),
        Command(
            "test",
            "[--kernels] [--no-types] [PACKAGE ...] [-- PYTEST-ARGUMENTS ...]",
            "check the style and run the tests of all packages, or of those named",
        ),
        Command(
            "python",
            "FILE [ARGUMENTS ...]",
            "run Python in the suite's environment, for example on a file of benchmarks/",
            delegated=True,
        ),
        Command(
            "complete",
            "",
            'complete words with the Tab key, in bash: eval "$(./diffbot complete)"',
        ),
        Command(
            "docs",
            "[--output DIR]",
            "build the site of docs/ with Sphinx, for a browser without a network",
        ),
        Command(
            "setup",
            "[gazebo] [study] [docs] [bench] [--sbom FILE]",
            "only install the environment and build the workspace (and Gazebo, Dask, Sphinx, the "
            "benchmark's peers); --sbom lists all that is installed (CycloneDX)",
            of_setup=True,
        ),
        Command(
            "clean", "", "remove .diffbot: all that diffbot installed and built", of_setup=True
        ),
    )
}


def help_text() -> str:
    """Return what `diffbot --help` prints."""
    lines = ["usage: diffbot COMMAND ...", "       diffbot --version", ""]
    for command in COMMANDS.values():
        lines.append(f"  diffbot {command.name} {command.usage}".rstrip())
        lines.append(f"      {command.summary}")
    lines += [
        "",
        "The first call sets everything up, which takes a minute; later calls start at once.",
        "A sourced ROS 2 is used if there is one. Environment variables:",
        "  DIFFBOT_ROS=jazzy|kilted|system   ROS 2 from wheels (default: jazzy), or sourced",
        "  DIFFBOT_DEBIAN_MIRROR=URL   where sim:=gazebo gets Debian 11's packages from",
    ]
    return "\n".join(lines)


def quietly(run: Callable[[], int]) -> int:
    """Call `run` and return its exit status; end silently when the reader of the output is gone."""
    try:
        status = run()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        drop_output()
        return BROKEN_PIPE


def drop_output() -> None:
    """Discard all further output: Python flushes once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: list[str] | None = None) -> int:
    """Run a command inside an environment that ./diffbot or a sourced workspace has made."""
    words = sys.argv[1:] if argv is None else argv
    return quietly(lambda: _run(words))


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if words[0] == "--version":
        print(f"diffbot {suite_version()}")
        return 0
    runnable = [name for name, command in COMMANDS.items() if not command.of_setup]
    speaker = "diffbot"
    try:
        check_one_of("command", words[0], runnable)
        speaker = f"diffbot {words[0]}"
        return COMMANDS[words[0]].run(words[1:])
    except UsageError as error:
        print(f"{speaker}: {printable_lines(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        text = refusal_of_machine(error)
        if text is None and (extra := missing_extra(error)):
            complain(speaker, extra)
            return 2
        if text is None:
            raise
        complain(speaker, text)
        return 1
    except SystemExit as ended:  # argparse's, after --help or a wrong option
        return int(ended.code or 0)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def end_as_by_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP, unless they are ignored, end a command as Ctrl-C does: tidily."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows lacks the last one
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_as_by_ctrl_c()
    gc.set_threshold(20_000, 20, 20)  # most of what a command makes is used until its end
    status = main()
    for ending in (signal.SIGINT, signal.SIGTERM):  # no traceback of what libraries do at the exit
        signal.signal(ending, signal.SIG_DFL)
    gc.freeze()  # as in diffbot_node.executables: no search for garbage at the exit
    sys.exit(status)
