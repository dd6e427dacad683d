"""``diffbot launch``: run an XML launch file of the suite."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from diffbot_bringup.xml_launch import (
    LaunchError,
    Resolver,
    Supervisor,
    check,
    check_known,
    declared,
    describe,
    launch_files,
    parse,
    read,
)

SUMMARY = "run a launch file: launch NAME [ARG:=VALUE ...]; without NAME, list them"

_EPILOG = """\
NAME is a launch file of the suite (ident, ident.launch.xml) or a path; PACKAGE FILE works too.
exit status: 0 all processes ended well; 1 a process failed (it is named); 2 wrong arguments or
launch file, nothing was started; 130 stopped by Ctrl-C (143 SIGTERM, 129 SIGHUP)."""


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


def main(argv: list[str]) -> int:
    """Run the command and return its exit status (see the epilog)."""
    try:
        options = _parser().parse_intermixed_args(argv)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        if options.name is None:
            return _list()
        return _launch(options)
    except LaunchError as error:
        print(f"diffbot launch: {error}", file=sys.stderr)
        return 2


def _list() -> int:
    files = launch_files.all_files()
    if not files:
        raise LaunchError("no launch files found; is the workspace built and sourced?")
    width = max(map(len, files))
    print("Launch files (diffbot launch NAME --show-args lists the arguments):")
    for name, path in sorted(files.items()):
        print(f"  {name:{width}}  {launch_files.headline(path)}".rstrip())
    return 0


def _launch(options: argparse.Namespace) -> int:
    path, words = _file(options.name, options.arguments)
    root = read(path).root
    check(root)
    arguments = declared(root, follow=True)
    if options.show_args:
        print(describe(arguments))
        return 0
    given = parse(words)
    names = {argument.name for argument in arguments}
    resolver = Resolver(os.environ)
    try:
        resolver.file(path, given.items())
    except LaunchError:
        check_known(given, names | resolver.declared)  # a misspelt name is the likelier cause
        raise
    check_known(given, names | resolver.declared)
    if options.dry_run:
        for process in resolver.processes:
            print(f"[{process.name}] {process}")
        return 0
    return Supervisor(resolver.processes, path.name.removesuffix(launch_files.SUFFIX)).run()


def _file(name: str, words: list[str]) -> tuple[Path, list[str]]:
    """Find the launch file; also understands ``PACKAGE FILE`` as ``ros2 launch`` does."""
    if words and ":=" not in words[0]:
        files = {path.name: path for path in launch_files.package_files(name)}
        if words[0] in files:
            return files[words[0]].absolute(), words[1:]
    return launch_files.find(name), words
