# SPDX-License-Identifier: Apache-2.0
"""``diffbot launch``: run an XML launch file of the suite."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup import domains, leftovers
from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.arguments import Request, describe, understand
from diffbot_bringup.xml_launch.config_file import ARGUMENT, NO_FILE, check_file, describe_settings
from diffbot_bringup.xml_launch.document import (
    NO_FILES,
    SUFFIX,
    LaunchError,
    check,
    headline,
    launch_files,
)
from diffbot_bringup.xml_launch.processes import ProcessDescription, Supervisor, say
from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_bringup.xml_launch.room import check_reach, check_room
from diffbot_bringup.xml_launch.substitutions import installed_share
from diffbot_description.files import SUMMARY, write_json
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import FolderTaken, claim, launch_name, make_writable
from diffbot_description.standard_streams import keep_streams
from diffbot_node.same_names import same_names

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: list[str]) -> int:
    """Run the command and return its exit status (see its --help). Raises as Command.run does."""
    request = understand(argv)
    return _list() if request is None else _launch(request)


def _list() -> int:
    files = launch_files(installed_share)
    if not files:
        raise UsageError(NO_FILES)
    width = max(map(len, files))
    print("Launch files (diffbot launch NAME --show-args lists the arguments):")
    for name, path in files.items():
        print(f"  {name:{width}}  {headline(path)}".rstrip())
    return 0


def _launch(request: Request) -> int:
    check(request.root)
    _check_names()
    if request.show_args:
        print(describe(request.arguments.declared) + describe_settings(request.settings))
        return 0
    if not request.dry_run:
        keep_streams()
    name = request.path.name.removesuffix(SUFFIX)
    check_file(request.given.get(ARGUMENT, NO_FILE), request.settings)
    with contextlib.ExitStack() as stack:
        resolver, run = _in_its_domain(request, name)
        if run:
            stack.enter_context(run)
        if "goal" in request.given:
            check_reach(resolver.scope.configurations)
        check_room(resolver.processes)
        if request.dry_run:
            for process in resolver.processes:
                print(f"[{process.name}] {process}")
            return 0
        for text in _about_domain(run):
            say("INFO", text)
        results = _claimed(resolver, name)
        supervisor = Supervisor(resolver.processes, name)
        status = supervisor.run()
        if status and results is not None:
            _tell_of_missing_summary(results, name, status, supervisor.failed())
        return status


def _check_names() -> None:
    result = same_names(os.environ.get("AMENT_PREFIX_PATH", ""))
    for other in result:
        if other.used:
            raise UsageError(str(other))
        say("WARN", str(other))


def _claimed(resolver: Resolver, name: str) -> Path | None:
    """Make the folder of the results this launch's own; None if the launch has none, or several.

    Raises:
        UsageError: It belongs to another run, or cannot be made.
    """
    names = {launch_name(process.environment) for process in resolver.processes}
    if len(names - {""}) != 1 or "results" not in resolver.scope.configurations:
        return None
    (launch,) = names - {""}
    given = str(resolver.scope.configurations["results"])
    folder = expanded(given)
    try:
        make_writable(folder)
        claim(folder, launch, name)
        leftovers.sweep_results(folder)
    except FolderTaken as error:
        raise UsageError(f"argument 'results' = {error}") from None
    except OSError as error:
        raise UsageError(
            f"argument 'results' = '{given}': {error.strerror}; give a folder that can be created "
            "and written"
        ) from None
    return folder


def _tell_of_missing_summary(folder: Path, name: str, status: int, failed: list[str]) -> None:
    path = folder / SUMMARY
    if path.exists():
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    how = "the launch failed"
    if status > 128:
        how = f"the launch was stopped by {signal.Signals(status - 128).name}"
    elif failed:
        how = f"failed: {', '.join(failed)}"
    content = {
        "name": name,
        "outcome": "stopped" if status > 128 else "failed",
        "reason": f"{how}; no node wrote a summary",
        "complete": False,
        "missing": ["all results: their report was killed, did not begin, or found no space"],
    }
    try:
        write_json(path, content)
    except OSError as error:
        say("ERROR", str(error))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def _about_domain(run: domains.Registration | None) -> list[str]:
    if run is None or not run.run.launch:
        return []
    if run.own:
        return [f"domain {run.domain} (own; {domains.VARIABLE}={run.domain} joins it)"]
    return [
        f"domain {run.domain}; {other.name} is in another one: set "
        f"{domains.VARIABLE}={other.domain} to join it"
        for other in domains.runs()
        if other.launch and other.domain != run.domain
    ]


def _in_its_domain(request: Request, name: str) -> tuple[Resolver, domains.Registration | None]:
    """Resolve the launch file in the run's domain; a run with a simulator gets its own.

    In a domain that the user has chosen, a second simulator of the same robot is refused.

    Raises:
        DomainError: No domain is free, or another run simulates a robot in the chosen one.
    """
    if chosen := os.environ.get(domains.VARIABLE):
        resolver = _resolve(request, os.environ)
        simulators = [p for p in resolver.processes if _simulates(p, chosen)]
        if request.dry_run or not simulators or not chosen.isdecimal():
            return resolver, None
        where = _results(resolver)
        return resolver, domains.simulate(int(chosen), name, where, _namespace(simulators[0]))
    # The keys of a secured graph are valid for one domain only.
    secured = os.environ.get("ROS_SECURITY_ENABLE", "").lower() == "true"
    if request.given.get("sim") != "none" and not secured:
        # Before knowing whether there is a simulator: the launch file may read it.
        own = domains.claim(name, launch=True)
        try:
            resolver = _resolve(request, {**os.environ, domains.VARIABLE: str(own.domain)})
            if any(_simulates(process, str(own.domain)) for process in resolver.processes):
                own.move(_results(resolver))
                return resolver, own
        except BaseException:
            own.release()
            raise
        own.release()
    resolver = _resolve(request, os.environ)
    return resolver, domains.announce(0, name, _results(resolver), launch=True)


def _resolve(request: Request, environment: Mapping[str, str]) -> Resolver:
    resolver = Resolver(environment)
    try:
        resolver.file(request.path, request.given.items())
    except LaunchError:
        # A misspelt argument name is the likelier cause.
        request.arguments.check_names(request.given, resolver.declared)
        raise
    request.arguments.check_names(request.given, resolver.declared)
    return resolver


def _results(resolver: Resolver) -> str:
    return os.path.abspath(str(resolver.scope.configurations.get("results", "")))


def _simulates(process: ProcessDescription, domain: str) -> bool:
    program = Path(str(process.command[0]))
    alone = program.parent.name == "diffbot_sim" and program.name != "fault_injector"
    return (alone or process.is_composed) and process.environment.get(domains.VARIABLE) == domain


def _namespace(process: ProcessDescription) -> str:
    words = (str(word).partition("__ns:=") for word in process.command)
    return next((name.strip("/") for _, result, name in words if result), "")
