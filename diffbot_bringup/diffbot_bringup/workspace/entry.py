# SPDX-License-Identifier: Apache-2.0
"""The work of the script ./diffbot: check the command, set up what is missing, run the command.

A set-up waits for another one in the same checkout, and refuses to change what an active run uses.
"""

from __future__ import annotations

import fcntl
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

from diffbot_bringup import leftovers
from diffbot_bringup.cli import COMMANDS, help_text, quietly
from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.workspace.environment import SystemEnvironment
from diffbot_bringup.workspace.gazebo import FOLDER_VARIABLE, GazeboSetup, wants_gazebo
from diffbot_bringup.workspace.packages import Workspace, check_arguments
from diffbot_bringup.workspace.process import SetupError, say
from diffbot_bringup.workspace.wheels import (
    DISTROS,
    PARTS,
    AddedPackages,
    Environment,
    WheelsEnvironment,
    wanted_part,
)
from diffbot_description.suite_version import checkout_version
from diffbot_description.terminal_text import printable, printable_lines, refusal_of_machine

_USAGE_STATUS = 2
_FAILED_STATUS = 1


def main(root: Path, argv: list[str]) -> int:
    """Run `./diffbot argv` in the checkout root; return the exit status, unless replaced."""
    try:
        return quietly(lambda: _main(root, argv))
    except UsageError as error:
        say(printable_lines(error))
        return _USAGE_STATUS
    except (SetupError, ValueError) as error:
        say(printable_lines(error))
        return _FAILED_STATUS
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        text = refusal_of_machine(error)
        if text is None:
            raise
        say(printable(text))
        return _FAILED_STATUS
    except KeyboardInterrupt:
        say("interrupted; run the same command again to resume")
        return 128 + signal.SIGINT


def _main(root: Path, argv: list[str]) -> int:
    if not argv:
        print(help_text(), file=sys.stderr)
        return _USAGE_STATUS
    command, words = argv[0], argv[1:]
    bill = None
    if command == "setup":
        from diffbot_bringup.workspace import sbom  # its modules load slowly

        words, bill = sbom.taken_from(words)
    if command in ("-h", "--help", "help"):
        print(help_text())
        return 0
    if command == "--version":
        print(f"diffbot {checkout_version(root)}")
        return 0
    if command not in COMMANDS and (root / "launch" / f"{command}.launch.xml").is_file():
        raise UsageError(f"{command!r} is a launch file: ./diffbot launch {command}")
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
    if command == "complete" and not _is_ready(root, environment):
        return 0  # the Tab key sets nothing up
    workspace = set_up(root, environment)
    used = [environment.directory]
    if wants_gazebo(command, words):
        with _tests_skip(command, "Gazebo"):
            used.append(set_up_gazebo(root, environment, workspace))
    added = None
    part, needed = wanted_part(command, words)
    if part is not None and isinstance(environment, WheelsEnvironment):
        added = AddedPackages(root, environment.directory, environment.python, part)
        if needed:
            with _tests_skip(command, PARTS[part]):
                set_up_part(root, added)
    if command == "setup":
        say(f"ready; using {environment.title}")
        if bill is not None:
            _write_bill(root, environment, bill)
        return 0
    if not all([hold(folder) for folder in used]):
        return _main(root, argv)  # another set-up has run in between
    if isinstance(environment, SystemEnvironment):
        say(f"using {environment.title} (DIFFBOT_ROS={DISTROS[0]} would use wheels)")
    _replace(root, environment, workspace, argv, added)


def _write_bill(root: Path, environment: Environment, file: Path) -> None:
    from diffbot_bringup.workspace import sbom

    sites = [*environment.sites, *(environment.directory / part for part in PARTS)]
    gazebo = Path(os.environ.get(FOLDER_VARIABLE) or root / ".diffbot" / "gazebo") / "prefix"
    count = sbom.write_bill(file, sites, gazebo)
    say(f"{count} installed packages are listed in {file}")


def choose(root: Path) -> Environment:
    """Return the sourced ROS 2 if there is one, otherwise the wheels; DIFFBOT_ROS overrides."""
    choice = os.environ.get("DIFFBOT_ROS", "")
    if choice not in ("", *DISTROS, "system"):
        raise UsageError(
            f"DIFFBOT_ROS is {choice!r}; it must be {', '.join(DISTROS)}, system or empty"
        )
    distro = os.environ.get("ROS_DISTRO", "")
    # The wheels do not set ROS_DISTRO.
    sourced = bool(distro) and importlib.util.find_spec("rclpy") is not None
    if choice == "system" and not sourced:
        raise UsageError(
            "DIFFBOT_ROS is system but no ROS 2 is sourced; source /opt/ros/<distro>/setup.bash"
        )
    if choice in DISTROS:
        return WheelsEnvironment(root, choice)
    return SystemEnvironment(root, distro) if sourced else WheelsEnvironment(root)


def _is_ready(root: Path, environment: Environment) -> bool:
    return environment.is_ready() and Workspace(root, environment).is_ready()


def set_up(root: Path, environment: Environment) -> Workspace:
    """Make the environment and build what has changed; return at once if all is ready."""
    workspace = Workspace(root, environment)
    if environment.is_ready() and workspace.is_ready():
        return workspace
    with _setting_up(root) as lock:
        workspace = Workspace(root, environment)
        if environment.is_ready() and workspace.is_ready():
            return workspace  # another set-up has run meanwhile
        with alone(environment.directory):
            say(f"using {environment.title}")
            environment.prepare(lock)
            workspace = Workspace(root, environment)
            workspace.build(lock)
    return workspace


def set_up_gazebo(root: Path, environment: Environment, workspace: Workspace) -> Path:
    """Get Gazebo and build its plugin, unless both are ready; return their folder."""
    gazebo = GazeboSetup(root, environment.python, workspace.variables(os.environ))
    if not gazebo.is_ready():
        with _setting_up(root) as lock, alone(gazebo.folder):
            gazebo.prepare(lock)
    return gazebo.folder


def set_up_part(root: Path, packages: AddedPackages) -> None:
    """Get the additional packages of a part, unless they are ready."""
    if not packages.is_ready():
        with _setting_up(root) as lock, alone(packages.folder.parent):
            packages.prepare(lock)


@contextmanager
def _tests_skip(command: str, tests: str) -> Iterator[None]:
    try:
        yield
    except SetupError as error:
        if command != "test":
            raise
        say(f"skipping the tests with {tests}: {error}")


@contextmanager
def _setting_up(root: Path) -> Iterator[int]:
    previous = signal.signal(signal.SIGTERM, _terminated)
    start = time.monotonic()
    try:
        with checkout_lock(root / ".diffbot" / "lock") as lock:
            yield lock
    finally:
        signal.signal(signal.SIGTERM, previous)
    say(f"set-up finished in {time.monotonic() - start:.1f} s")


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    # Raise an exception, so that the running tool is ended, too.
    sys.exit(128 + number)


def _replace(
    root: Path,
    environment: Environment,
    workspace: Workspace,
    argv: list[str],
    added: AddedPackages | None,
) -> NoReturn:
    """Replace this process by the command, so that signals and the exit status are its own."""
    variables = workspace.variables(os.environ)
    if added is not None and added.is_ready():
        variables = added.added(variables)
    variables["DIFFBOT_ROOT"] = str(root)
    variables.setdefault(FOLDER_VARIABLE, str(root / ".diffbot" / "gazebo"))
    logs = root / ".diffbot" / "log"
    if os.access(logs, os.W_OK):  # otherwise ROS's own folder, as in a checkout that is read-only
        variables.setdefault("ROS_LOG_DIR", str(logs / "ros"))
    # All matrices are small: with threads, fits in tests took twice as long.
    variables.setdefault("OPENBLAS_NUM_THREADS", "1")
    # -P keeps the current folder off the module path.
    options = ["-P"] if sys.version_info >= (3, 11) else []
    python = str(environment.python)
    sys.stderr.flush()
    # Until the command unblocks it: Python would print where its start was.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    os.execve(python, [python, *options, "-m", "diffbot_bringup.cli", *argv], variables)


def _clean(root: Path) -> int:
    made = root / ".diffbot"
    with checkout_lock(made / "lock"), ExitStack() as stack:
        for folder in locked_folders(made):
            stack.enter_context(alone(folder))
        shutil.rmtree(made)
    leftovers.sweep()
    say("removed .diffbot")
    return 0


# Locks: only one set-up at a time per checkout, and none changes what an active run uses. A run
# holds a shared lock on a file in a folder, a set-up that changes the folder an exclusive one.

_FILE = "in_use"
_COMMAND_LINE = "diffbot_bringup.cli"
"""The word in our command lines after which the user's arguments follow."""


@contextmanager
def checkout_lock(path: Path) -> Iterator[int]:
    """Hold a lock on a file; yields its descriptor, which the tools of the set-up inherit.

    So the next set-up waits for a pip that outlives a killed ./diffbot.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another diffbot is setting up this checkout; waiting for it ...")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def hold(folder: Path) -> bool:
    """Mark a folder as in use until this process, including what it becomes by exec, has ended.

    Returns False, without a mark, if it had to wait for a set-up that changes the folder.
    """
    try:
        descriptor = _open(folder)
    except OSError:  # folder of another user, who has set it up
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another diffbot is setting up the same environment; waiting for it ...")
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.close(descriptor)
        return False
    os.set_inheritable(descriptor, True)
    return True


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder exclusively. Raises SetupError that names the processes that use it."""
    descriptor = _open(folder)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError(
                f"{folder} must be changed but is in use by {_users(descriptor)}; stop that, or "
                "wait until it ends, then run diffbot again"
            ) from None
        yield
    finally:
        os.close(descriptor)


def locked_folders(root: Path) -> list[Path]:
    """Return the folders below `root` that can be marked as in use."""
    return sorted(path.parent for path in root.glob(f"*/{_FILE}"))


def _open(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _users(descriptor: int) -> str:
    """Name the processes that hold a file's lock, as far as the kernel reports them."""
    number = os.fstat(descriptor).st_ino
    names = []
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        lines = []
    for words in map(str.split, lines):
        # 1: FLOCK ADVISORY READ <process> <device>:<inode> 0 EOF
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(number):
            names.append(f"{_command_line(words[4])} (process {words[4]})")
    return ", ".join(names) or "another process"


def _command_line(process: str) -> str:
    try:
        words = Path("/proc", process, "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "a process left over from a run that has ended"
    if _COMMAND_LINE in words:
        words = ["./diffbot", *words[words.index(_COMMAND_LINE) + 1 :]]
    return " ".join(words).strip()
