# SPDX-License-Identifier: Apache-2.0
"""``diffbot complete``: what the Tab key can make of a command line, for bash's ``complete -C``.

Bash sets COMP_LINE and COMP_POINT, and reads one candidate a line. Options come from each command's
own ``--help``, launch arguments from the launch files.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.arguments import AUTO, Argument, Arguments, robots_of
from diffbot_bringup.xml_launch.document import LaunchError, find, launch_files, read
from diffbot_bringup.xml_launch.substitutions import installed_share

# Without a candidate bash completes names of files.
REGISTER = "complete -o nospace -o default -C '{} complete' ./diffbot diffbot"
BOOLEANS = ("true", "false")
OPTIONS = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def main(argv: list[str]) -> int:
    """Print the candidates of bash's command line, or else the line that registers this command."""
    line = os.environ.get("COMP_LINE")
    if line is None:
        root = os.environ.get("DIFFBOT_ROOT")
        print(REGISTER.format(f"{root}/diffbot" if root else "diffbot"))
        return 0
    try:
        line = line[: int(os.environ.get("COMP_POINT", len(line)))]
    except ValueError:
        return 2
    word = line.split(" ")[-1]
    # Bash replaces what follows the last of its word breaks, as `:` and `=` are.
    kept = re.match(r".*[:=]", word)
    for candidate in candidates(line.split(" ")[1:]):
        print(candidate[len(kept[0]) if kept else 0 :])
    return 0


def candidates(words: Sequence[str]) -> list[str]:
    """Return what the last of the words after `diffbot` may become; a whole word ends in a blank.

    Example:
        >>> candidates(["laun"])
        ['launch ']
    """
    from diffbot_bringup.cli import COMMANDS

    *before, word = words
    if not before:
        return [f"{name} " for name in COMMANDS if name.startswith(word)]
    command = before[0]
    if command not in COMMANDS:
        return []
    fitting = _launch(before[1:], word) if command == "launch" else _robot(before, word)
    if not word.startswith("-") and (named := [*fitting]):
        return [each for each in named if each.startswith(word)]
    text = _help(command)
    if before[-1].startswith("-"):
        return [f"{each} " for each in _choices(text, before[-1]) if each.startswith(word)]
    options = sorted({*OPTIONS.findall(text)}) if word.startswith("-") else []
    return [f"{option} " for option in options if option.startswith(word)]


def _launch(before: Sequence[str], word: str) -> Iterator[str]:
    """Yield names of launch files, or the arguments of one and their values."""
    if not before:
        yield from (f"{name} " for name in launch_files(installed_share))
        return
    try:
        path, rest = find(before[0], [*before[1:]], installed_share)
        declared = Arguments.of(read(path).root, installed_share).declared
    except (UsageError, LaunchError):
        return
    given = {each.partition(":=")[0] for each in rest}
    name, separator, _ = word.partition(":=")
    for argument in declared:
        if separator and argument.name == name:
            yield from (f"{name}:={value} " for value in _values(argument))
        elif not separator and argument.name not in given:
            yield f"{argument.name}:="


def _values(argument: Argument) -> Sequence[str]:
    if argument.name == "robot":
        return (*robots_of(installed_share), AUTO)
    if argument.default in BOOLEANS:
        return BOOLEANS
    return argument.choices


def _robot(before: Sequence[str], word: str) -> Iterator[str]:
    """Yield the robots of the suite, after --robot and in robot:=NAME."""
    begin = "robot:=" if word.startswith("robot:=") else ""
    if begin or before[-1] == "--robot":
        yield from (f"{begin}{name} " for name in robots_of(installed_share))


def _help(command: str) -> str:
    from diffbot_bringup.cli import COMMANDS

    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit, UsageError, ImportError, OSError),
    ):
        COMMANDS[command].run(["--help"])
    return printed.getvalue()


def _choices(text: str, option: str) -> Sequence[str]:
    """What an option accepts, as its help lists it: --option {one,two}."""
    match = re.search(rf"{re.escape(option)} \{{([^}}]*)\}}", text)
    return re.split(r",\s*", match[1]) if match else ()
