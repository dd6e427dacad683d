"""``diffbot launch``: run an XML launch file of the suite."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup import domains
from diffbot_bringup.xml_launch import (
    LaunchError,
    ProcessDescription,
    Resolver,
    Supervisor,
    check,
    check_known,
    declared,
    describe,
    parse,
    read,
    say,
)
from diffbot_bringup.xml_launch import arguments as launch_files

SUMMARY = "run a launch file: launch NAME [ARG:=VALUE ...]; without NAME, list them"

_EPILOG = """\
NAME is a launch file of the suite (ident, ident.launch.xml) or a path; PACKAGE FILE works too.
A run with a simulator gets a DDS domain of its own, and the first line names it; one without, or
with ROS_DOMAIN_ID set, stays where it is.
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
    except (LaunchError, domains.DomainError) as error:
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
    name = path.name.removesuffix(launch_files.SUFFIX)
    known = {argument.name for argument in arguments}
    with contextlib.ExitStack() as stack:
        resolver, run = _in_its_domain(path, given, known, name)
        if run:
            stack.enter_context(run)
        if options.dry_run:
            for process in resolver.processes:
                print(f"[{process.name}] {process}")
            return 0
        if run:
            _say_domain(run)
        for message in resolver.messages:
            print(f"[INFO] [launch.user]: {message}", flush=True)
        return Supervisor(resolver.processes, name).run()


def _say_domain(run: domains.Registration) -> None:
    """Say where the run is, where a person may expect it elsewhere."""
    if run.own:
        say("INFO", f"domain {run.domain} (own; {domains.VARIABLE}={run.domain} joins it)")
        return
    for other in domains.runs():
        if other.launch and other.domain != run.domain:
            text = f"not that of {other.name}, which {domains.VARIABLE}={other.domain} joins"
            say("INFO", f"domain {run.domain}, {text}")


def _in_its_domain(
    path: Path, given: dict[str, str], known: set[str], name: str
) -> tuple[Resolver, domains.Registration | None]:
    """Resolve the launch file in the run's domain: its own one where it has a simulator.

    Where the user has not chosen the domain, others may look for the run, and it is in the list.
    """
    if os.environ.get(domains.VARIABLE):
        return _resolve(path, given, known, os.environ), None
    # The keys of a secured graph are for one domain.
    secured = os.environ.get("ROS_SECURITY_ENABLE", "").lower() == "true"
    if given.get("sim") != "none" and not secured:
        # It must be there before it is known whether there is a simulator: the file may read it.
        own = domains.claim(name, launch=True)
        try:
            variables = {**os.environ, domains.VARIABLE: str(own.domain)}
            resolver = _resolve(path, given, known, variables)
            if any(_simulates(process, own.domain) for process in resolver.processes):
                own.move(_results(resolver))
                return resolver, own
        except BaseException:
            own.release()
            raise
        own.release()
    resolver = _resolve(path, given, known, os.environ)
    return resolver, domains.announce(0, name, _results(resolver), launch=True)


def _results(resolver: Resolver) -> str:
    """Return the folder of the results, or where the run is started when it has none."""
    return os.path.abspath(resolver.scope.configurations.get("results", ""))


def _resolve(
    path: Path, given: dict[str, str], known: set[str], environment: Mapping[str, str]
) -> Resolver:
    resolver = Resolver(environment)
    try:
        resolver.file(path, given.items())
    except LaunchError:
        check_known(given, known | resolver.declared)  # a misspelt name is the likelier cause
        raise
    check_known(given, known | resolver.declared)
    return resolver


def _simulates(process: ProcessDescription, domain: int) -> bool:
    """Whether a process is a simulator, in a domain that the launch file has not changed."""
    package, executable = Path(str(process.command[0])).parts[-2:]
    return (
        package == "diffbot_sim"
        and executable != "fault_injector"
        and process.environment.get(domains.VARIABLE) == str(domain)
    )


def _file(name: str, words: list[str]) -> tuple[Path, list[str]]:
    """Find the launch file; also understands ``PACKAGE FILE`` as ``ros2 launch`` does."""
    if words and ":=" not in words[0]:
        files = {path.name: path for path in launch_files.package_files(name)}
        if words[0] in files:
            return files[words[0]].absolute(), words[1:]
    return launch_files.find(name), words
