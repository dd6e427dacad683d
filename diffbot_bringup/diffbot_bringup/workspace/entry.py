# SPDX-License-Identifier: Apache-2.0
"""What the script ./diffbot does: check the command, set up what is missing, run the command."""

import importlib.util
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from diffbot_bringup.cli import COMMANDS, help_text, quietly
from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.workspace import locks
from diffbot_bringup.workspace.build import Workspace
from diffbot_bringup.workspace.environment import Environment, SystemEnvironment
from diffbot_bringup.workspace.gazebo import FOLDER_VARIABLE, GazeboSetup, wants_gazebo
from diffbot_bringup.workspace.packages import check_arguments
from diffbot_bringup.workspace.process import SetupError, say
from diffbot_bringup.workspace.study_packages import StudyPackages, wants_study_packages
from diffbot_bringup.workspace.wheels import WheelsEnvironment

_USAGE_STATUS = 2
_FAILED_STATUS = 1


def main(root: Path, argv: list[str]) -> int:
    """Run `./diffbot argv` in the checkout root; return the exit status, unless replaced."""
    try:
        return quietly(lambda: _main(root, argv))
    except UsageError as error:
        say(str(error))
        return _USAGE_STATUS
    except (SetupError, ValueError) as error:
        say(str(error))
        return _FAILED_STATUS
    except KeyboardInterrupt:
        say("interrupted; run the same command again to go on where it stopped")
        return 128 + signal.SIGINT


def _main(root: Path, argv: list[str]) -> int:
    if not argv:
        print(help_text(), file=sys.stderr)
        return _USAGE_STATUS
    command, words = argv[0], argv[1:]
    if command in ("-h", "--help", "help"):
        print(help_text())
        return 0
    check_one_of("command", command, COMMANDS)
    if command in ("setup", "clean", "test") and ("-h" in words or "--help" in words):
        print(f"usage: diffbot {command} {COMMANDS[command].usage}".rstrip())
        print(COMMANDS[command].summary)
        return 0
    if command == "clean":
        check_arguments(root, command, words, any_package=False)
        return _clean(root)
    environment = choose(root)
    check_arguments(root, command, words, isinstance(environment, SystemEnvironment))
    workspace = set_up(root, environment)
    used = [environment.directory]
    if wants_gazebo(command, words):
        try:
            used.append(set_up_gazebo(root, environment, workspace))
        except SetupError as error:
            if command != "test":
                raise
            say(f"the tests with Gazebo are left out: {error}")
    study = _study(root, environment, command, words)
    if command == "setup":
        say(f"ready; using {environment.title}")
        return 0
    if not all([locks.hold(folder) for folder in used]):
        return _main(root, argv)  # another set-up has come between
    if isinstance(environment, SystemEnvironment):
        say(f"using {environment.title} (DIFFBOT_ROS=wheels would use wheels)")
    _replace(root, environment, workspace, argv, study)


def choose(root: Path) -> Environment:
    """Return the sourced ROS 2 if there is one, else the wheels; DIFFBOT_ROS overrides."""
    choice = os.environ.get("DIFFBOT_ROS", "")
    if choice not in ("", "wheels", "system"):
        raise UsageError(f"DIFFBOT_ROS is {choice!r}; it must be wheels, system or empty")
    distro = os.environ.get("ROS_DISTRO", "")
    # The wheels set no ROS_DISTRO, so that their own environment is not mistaken for an install.
    sourced = bool(distro) and importlib.util.find_spec("rclpy") is not None
    if choice == "system" and not sourced:
        raise UsageError(
            "DIFFBOT_ROS is system but no ROS 2 is sourced; source /opt/ros/<distro>/setup.bash"
        )
    if sourced and choice != "wheels":
        return SystemEnvironment(root, distro)
    return WheelsEnvironment(root)


def set_up(root: Path, environment: Environment) -> Workspace:
    """Make the environment and build what has changed; return at once when all is ready."""
    workspace = Workspace(root, environment)
    if environment.is_ready() and workspace.is_ready():
        return workspace
    with _setting_up(root) as lock:
        workspace = Workspace(root, environment)
        if environment.is_ready() and workspace.is_ready():
            return workspace  # another set-up has run meanwhile
        with locks.alone(environment.directory):
            say(f"using {environment.title}")
            environment.prepare(lock.descriptor)
            workspace = Workspace(root, environment)
            workspace.build(lock.descriptor)
    return workspace


def set_up_gazebo(root: Path, environment: Environment, workspace: Workspace) -> Path:
    """Get Gazebo and build its plugin; return at once when both are there, with their folder."""
    gazebo = GazeboSetup(root, environment.python, workspace.variables(os.environ))
    if not gazebo.is_ready():
        with _setting_up(root) as lock, locks.alone(gazebo.folder):
            gazebo.prepare(lock.descriptor)
    return gazebo.folder


def set_up_study(root: Path, environment: Environment) -> StudyPackages:
    """Get what studies and fleets need besides; return at once when it is there."""
    packages = StudyPackages(root, environment.directory, environment.python)
    if not packages.is_ready():
        with _setting_up(root) as lock, locks.alone(environment.directory):
            packages.prepare(lock.descriptor)
    return packages


def _study(
    root: Path, environment: Environment, command: str, words: list[str]
) -> StudyPackages | None:
    """What the command gets of the packages of studies; Python gets them where they are there."""
    # A ROS 2 install has its own way to get them; the command says which.
    if not isinstance(environment, WheelsEnvironment):
        return None
    if not wants_study_packages(command, words):
        packages = StudyPackages(root, environment.directory, environment.python)
        return packages if command == "python" and packages.is_ready() else None
    try:
        return set_up_study(root, environment)
    except SetupError as error:
        if command != "test":
            raise
        say(f"the tests with Dask and pyarrow are left out: {error}")
        return None


@contextmanager
def _setting_up(root: Path) -> Iterator[locks.CheckoutLock]:
    previous = signal.signal(signal.SIGTERM, _terminated)
    start = time.monotonic()
    try:
        with locks.CheckoutLock(root / ".diffbot" / "lock") as lock:
            yield lock
    finally:
        signal.signal(signal.SIGTERM, previous)
    say(f"set-up finished in {time.monotonic() - start:.1f} s")


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    # An exception, so that the tool that is running is ended too.
    sys.exit(128 + number)


def _replace(
    root: Path,
    environment: Environment,
    workspace: Workspace,
    argv: list[str],
    study: StudyPackages | None,
) -> NoReturn:
    """Become the command, so that signals and the exit status are its own."""
    variables = workspace.variables(os.environ)
    if study is not None:
        variables = study.added(variables)
    variables["DIFFBOT_ROOT"] = str(root)
    variables.setdefault(FOLDER_VARIABLE, str(root / ".diffbot" / "gazebo"))
    variables.setdefault("ROS_LOG_DIR", str(root / ".diffbot" / "log" / "ros"))
    # -P keeps the current folder, where anything may lie, off the module path.
    options = ["-P"] if sys.version_info >= (3, 11) else []
    python = str(environment.python)
    sys.stderr.flush()
    os.execve(python, [python, *options, "-m", "diffbot_bringup.cli", *argv], variables)


def _clean(root: Path) -> int:
    made = root / ".diffbot"
    with locks.CheckoutLock(made / "lock"), ExitStack() as stack:
        for folder in locks.held_folders(made):
            stack.enter_context(locks.alone(folder))
        shutil.rmtree(made)
    say("removed .diffbot")
    return 0
