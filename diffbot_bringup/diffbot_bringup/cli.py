"""The commands of `diffbot`, and the dispatch to them inside an environment.

Only the standard library is imported at the top: ./diffbot reads the table before any environment
exists, and a command is imported when it is called.
"""

import ast
import importlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

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


def main(argv: list[str] | None = None) -> int:
    """Run a command inside an environment that ./diffbot or a sourced workspace has made."""
    words = sys.argv[1:] if argv is None else argv
    runnable = [name for name, command in COMMANDS.items() if not command.text]
    if not words or words[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if words[0] not in runnable:
        print(
            f"diffbot: unknown command {words[0]!r}; here it can be {', '.join(runnable)}",
            file=sys.stderr,
        )
        return 2
    try:
        module = importlib.import_module(f"diffbot_bringup.commands.{words[0]}")
        return int(module.main(words[1:]))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read what is printed, as head does, has enough; Python would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
