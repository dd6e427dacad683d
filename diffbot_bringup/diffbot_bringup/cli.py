"""The commands of `diffbot`, and the dispatch to them inside an environment.

Only the standard library is imported at the top: ./diffbot reads the table before any environment
exists, and a command is imported when it is called.
"""

import ast
import importlib
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of

_COMMANDS = Path(__file__).parent / "commands"


@dataclass(frozen=True)
class Command:
    """One command of the `diffbot` script."""

    name: str
    usage: str
    """What follows the name."""
    text: str = ""
    """What it does, for a command of the set-up, which has no module."""

    def summary(self) -> str:
        """Return one line about the command.

        The SUMMARY of a module is read without importing it, because --help works without the
        packages that the module imports.
        """
        if self.text:
            return self.text
        path = _COMMANDS / f"{self.name}.py"
        tree = ast.parse(path.read_text())
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "SUMMARY":
                return str(ast.literal_eval(statement.value))
        return ""


COMMANDS = {
    command.name: command
    for command in (
        Command("launch", "NAME [ARGUMENT:=VALUE ...] [--show-args]"),
        Command("run", "PACKAGE EXECUTABLE [ARGUMENTS ...]"),
        Command("echo", "TOPIC [--once]"),
        Command("identify", "FILE [FILE ...] [OPTIONS]"),
        Command("reproduce", "[PAPER ...] [--output DIR]"),
        Command("faults", "[--engine ideal|mujoco|gazebo] [--row TEXT] [--list] [--output DIR]"),
        Command("test", "[--kernels] [PACKAGE ...] [-- PYTEST-ARGUMENTS ...]"),
        Command("python", "FILE [ARGUMENTS ...]"),
        Command(
            "setup",
            "[gazebo]",
            "only make the environment and build the workspace (and get Gazebo)",
        ),
        Command("clean", "", "remove .diffbot, which holds all that diffbot has made"),
    )
}


def help_text() -> str:
    """Return what `diffbot --help` prints."""
    lines = ["usage: diffbot COMMAND ...", ""]
    for command in COMMANDS.values():
        lines += [
            f"  diffbot {command.name} {command.usage}".rstrip(),
            f"      {command.summary()}",
        ]
    lines += [
        "",
        "The first call sets everything up, which takes a few minutes; later calls start at once.",
        "A sourced ROS 2 is used if there is one. Environment variables:",
        "  DIFFBOT_ROS=wheels|system   use ROS 2 from wheels, or the sourced one",
        "  DIFFBOT_DEBIAN_MIRROR=URL   where sim:=gazebo gets Debian 11's packages from",
    ]
    return "\n".join(lines)


def quietly(run: Callable[[], int]) -> int:
    """Run what returns an exit status; a reader who has gone ends it without a complaint.

    Whoever reads what is printed, as head does, has enough.
    """
    try:
        status = run()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        drop_output()
        return 128 + signal.SIGPIPE


def drop_output() -> None:
    """Print to nowhere from now on: Python flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: list[str] | None = None) -> int:
    """Run a command inside an environment that ./diffbot or a sourced workspace has made."""
    words = sys.argv[1:] if argv is None else argv
    return quietly(lambda: _run(words))


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(help_text())
        return 0
    runnable = [name for name, command in COMMANDS.items() if not command.text]
    try:
        check_one_of("command", words[0], runnable)
        module = importlib.import_module(f"diffbot_bringup.commands.{words[0]}")
        return int(module.main(words[1:]))
    except UsageError as error:
        print(f"diffbot: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
