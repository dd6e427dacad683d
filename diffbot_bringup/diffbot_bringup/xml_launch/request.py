"""The command line of `diffbot launch`: what is to be launched, and whether that can be.

Standard library only: ./diffbot refuses what is wrong before there is an environment.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.arguments import Arguments, parse
from diffbot_bringup.xml_launch.document import Element, read
from diffbot_bringup.xml_launch.files import find, launch_files
from diffbot_bringup.xml_launch.substitutions import Share, installed_share

_EPILOG = """\
NAME is a launch file of the suite (ident, ident.launch.xml) or a path; PACKAGE FILE works too.
A run with a simulator gets a DDS domain of its own, and the first line names it; one without, or
with ROS_DOMAIN_ID set, stays where it is.
exit status: 0 all processes ended well; 1 a process failed (it is named); 2 wrong arguments or
launch file, nothing was started; 130 stopped by Ctrl-C (143 SIGTERM, 129 SIGHUP)."""


@dataclass(frozen=True)
class Request:
    """A launch file with arguments that fit it.

    Attributes:
        root: content of the file.
        arguments: all that could be given.
        given: their values, by name.
        show_args: list the arguments instead.
        dry_run: print what would be run instead.
    """

    root: Element
    arguments: Arguments
    given: dict[str, str]
    show_args: bool
    dry_run: bool

    @property
    def path(self) -> Path:
        """The launch file."""
        return self.root.file


def understand(words: Sequence[str], share: Share = installed_share) -> Request | None:
    """Read a command line; None: nothing is named, and the launch files are to be listed.

    Raises:
        UsageError: the launch file, or the first argument that cannot be, in one sentence.
        SystemExit: after --help, and for a wrong option.
    """
    options = _parser().parse_intermixed_args(words)
    if options.name is None and not words:
        return None
    if options.name is None or ":=" in options.name:
        files = ", ".join(launch_files(share)) or "none"
        raise UsageError(f"NAME is missing; the launch files are: {files}")
    path, rest = find(options.name, options.arguments, share)
    root = read(path).root
    arguments = Arguments.of(root, share)
    given = parse(rest)
    arguments.check(given, share)
    return Request(root, arguments, given, options.show_args, options.dry_run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="diffbot launch",
        description="Run an XML launch file.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="launch file; omit to list them")
    parser.add_argument("arguments", nargs="*", metavar="ARG:=VALUE", help="launch arguments")
    parser.add_argument(
        "-s", "--show-args", action="store_true", help="list the arguments of the launch file"
    )
    parser.add_argument(
        "-p", "--print", "--dry-run", dest="dry_run", action="store_true",
        help="print what would be run, and run nothing",
    )  # fmt: skip
    return parser
