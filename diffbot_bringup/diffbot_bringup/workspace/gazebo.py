# SPDX-License-Identifier: Apache-2.0
"""Gazebo 11 for a checkout: the machine's own, or Debian 11's packages in .diffbot/gazebo."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diffbot_bringup.usage import tested_packages
from diffbot_bringup.workspace.environment import Stamps, digest
from diffbot_bringup.workspace.process import ChildError, SetupError, SetupStep, run

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TOOLS = ("apt-get", "dpkg-deb")
_INSTALLED = re.compile(r"^Inst (\S+)")
_FETCHED = re.compile(r"^Get:\d+ \S+ \S+ \S+ (\S+)")

Watch = Callable[[int, int, str], None]
"""Called with (done, total, name of a package)."""


class DebianArchive:
    """A Debian release (`suite` of a mirror) as apt sees it, separate from the machine's own.

    `state`: folder for apt's lists and the downloads; `log`: for its output; `lock`: descriptor
    that the tools inherit, see entry.checkout_lock.
    """

    def __init__(self, mirror: str, suite: str, state: Path, log: Path, lock: int) -> None:
        self._state = state
        self._log = log
        self._lock = lock
        self._source = f"deb [signed-by={_KEYRING}] {mirror} {suite} main\n"

    def update(self) -> None:
        """Fetch the release's list of packages; raise ChildError when the archive has none."""
        for folder in ("lists/partial", "archives/partial", "downloads"):
            (self._state / folder).mkdir(parents=True, exist_ok=True)
        (self._state / "status").write_text("")
        (self._state / "sources.list").write_text(self._source)
        self._apt("update", "-o", "APT::Update::Error-Mode=any")

    def with_dependencies(self, names: Iterable[str]) -> list[str]:
        """Return the packages and everything they depend on."""
        results: list[str] = []

        def watch(line: str) -> None:
            if match := _INSTALLED.match(line):
                results.append(match.group(1))

        self._apt("install", "--simulate", "--no-install-recommends", *names, watch=watch)
        return results

    def fetch(self, names: list[str], watch: Watch) -> list[Path]:
        """Download the packages and return their files; a second call fetches only missing ones."""
        folder = self._state / "downloads"
        done: list[str] = []

        def count(line: str) -> None:
            if match := _FETCHED.match(line):
                done.append(match.group(1))
                watch(len(done), len(names), match.group(1))

        self._apt("download", *names, watch=count, folder=folder)
        return sorted(folder.glob("*.deb"))

    def _apt(
        self,
        *arguments: str,
        watch: Callable[[str], None] = lambda line: None,
        folder: Path | None = None,
    ) -> None:
        options = {
            "Dir::Etc::SourceList": self._state / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::State": self._state,
            "Dir::State::Status": self._state / "status",
            "Dir::Cache": self._state,
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
            # root's apt would run the downloads as a user who cannot write here.
            "APT::Sandbox::User": "root",
            "APT::Architecture": "amd64",
            "APT::Default-Release": "",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        environment = {**os.environ, "LC_ALL": "C"}
        command = ["apt-get", "--quiet", *words, *arguments]
        run(command, environment, self._log, self._lock, watch, folder)


def unpack(files: list[Path], prefix: Path, watch: Watch) -> None:
    """Unpack packages below prefix and delete their files; raise SetupError if one is damaged."""
    prefix.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for count, file in enumerate(pool.map(lambda file: _unpack(file, prefix), files), 1):
            watch(count, len(files), file.name.partition("_")[0])
    for leftover in ("usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(prefix / leftover, ignore_errors=True)


def _unpack(file: Path, prefix: Path) -> Path:
    result = subprocess.run(["dpkg-deb", "-x", file, prefix], capture_output=True, text=True)
    if result.returncode != 0:
        raise SetupError(f"cannot unpack {file.name}: {result.stderr.strip()}; run diffbot again")
    file.unlink()
    return file


def missing_tools() -> list[str]:
    """Return what this machine lacks to use a Debian archive."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    return missing if _KEYRING.exists() else [*missing, f"{_KEYRING} (debian-archive-keyring)"]


def own_mirror() -> str | None:
    """Return the Debian archive that this machine's apt is configured for, or None."""
    system = _os_release()
    if system.get("ID") != "debian":
        return None
    # Without release info it answers even before any `apt update`.
    command = ["apt-get", "indextargets", "--no-release-info"]
    command += ["--format", "$(COMPONENT) $(RELEASE) $(REPO_URI)"]
    names = (system.get("VERSION_CODENAME"), "stable", "oldstable", "testing")
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    for component, release, address in (line.split(" ", 2) for line in output.splitlines()):
        if component == "main" and release in names:
            return address
    return None


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


MIRROR_VARIABLE = "DIFFBOT_DEBIAN_MIRROR"
FOLDER_VARIABLE = "DIFFBOT_GAZEBO"
"""Variable that gives the suite's programs the folder with `prefix` and the plugin."""

_SUITE = "bullseye"
_PROGRAMS = ("gazebo", "gazebo-common", "libgazebo11")
_HEADERS = (
    "libboost1.74-dev",
    "libgazebo-dev",
    "libignition-common-dev",
    "libignition-math-dev",
    "libignition-msgs-dev",
    "libignition-transport-dev",
    "libprotobuf-dev",
    "libsdformat-dev",
    "libtbb-dev",
)
"""Headers for the plugin; fetched without their dependencies, which the plugin does not include."""
# The machine's own, newer C and C++ libraries are used; two versions in one process crash.
_MACHINE_LIBRARIES = ("libc6", "libgcc-s1", "libstdc++6", "libcrypt1", "gcc-10-base")
# Programs and settings of a complete system, excluded, too.
_SYSTEM_PACKAGES = (
    *("coreutils", "debconf", "dpkg", "lsb-base", "libsensors-config", "mariadb-common"),
    *("mysql-common", "perl-base", "sensible-utils", "tar", "ucf", "x11-common"),
)
_SPACE = 1_700_000_000
"""Bytes that packages and unpacked files need together."""
_NO_GAZEBO = 3
"""Exit status of diffbot_sim.gazebo.installation when the machine has no Gazebo."""
_STEP = "gazebo"
_PACKAGES = "packages"
"""File in the prefix that lists its packages."""


class GazeboSetup:
    """Makes Gazebo and the plugin ready to use, in one folder.

    `python` and `variables` give the interpreter with the workspace's packages.
    """

    def __init__(self, root: Path, python: Path, variables: dict[str, str]) -> None:
        self.folder = Path(os.environ.get(FOLDER_VARIABLE) or root / ".diffbot" / "gazebo")
        self._prefix = self.folder / "prefix"
        self._contents = Stamps(self._prefix)
        self._python = python
        self._variables = variables
        self._log = root / ".diffbot" / "log" / "gazebo.log"
        self._stamps = Stamps(root / ".diffbot" / "stamps")
        plugin = root / "diffbot_sim" / "diffbot_sim" / "gazebo" / "plugin"
        sources = [file.read_bytes() for file in sorted(plugin.iterdir())]
        self._packages = digest(_SUITE, *_PROGRAMS, *_HEADERS)
        self._key = digest(str(self.folder), self._packages, *sources)

    def is_ready(self) -> bool:
        there = shutil.which("gzserver") or (self._prefix / "usr/bin/gzserver").exists()
        return self._stamps.is_current(_STEP, self._key) and bool(there)

    def prepare(self, lock: int) -> None:
        """Get Gazebo if the machine has none, and build the plugin; SetupError has the remedy."""
        if self.is_ready():
            return
        self._log.unlink(missing_ok=True)
        self._stamps.clear(_STEP)
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            if not self._has_gazebo(lock):
                self._make_prefix(lock)
            with SetupStep("Building the plugin for Gazebo"):
                self._run_builder(lock)
        except ChildError as error:
            text = "\n".join(["the plugin for Gazebo was not built:", *error.tail])
            raise SetupError(f"{text}\n(complete log: {error.log})") from error
        self._stamps.set(_STEP, self._key)

    def _has_gazebo(self, lock: int) -> bool:
        if self._prefix.exists() and not self._contents.is_current(_PACKAGES, self._packages):
            shutil.rmtree(self._prefix)  # made from other packages than those needed now
        try:
            self._run_builder(lock, "--find")
        except ChildError as error:
            if error.status == _NO_GAZEBO:
                return False
            raise
        return True

    def _run_builder(self, lock: int, *options: str) -> None:
        command: list[str | Path] = [
            self._python,
            "-m",
            "diffbot_sim.gazebo.installation",
            *options,
        ]
        variables = {**self._variables, FOLDER_VARIABLE: str(self.folder)}
        run(command, variables, self._log, lock)

    def _make_prefix(self, lock: int) -> None:
        mirror = self._mirror()
        if shutil.disk_usage(self.folder).free < _SPACE:
            raise SetupError(
                f"unpacking Gazebo needs {_SPACE / 1e9} GB of free disk space; free some"
            )
        state = self.folder / "apt"
        archive = DebianArchive(mirror, _SUITE, state, self._log, lock)
        shutil.rmtree(self._prefix, ignore_errors=True)
        try:
            with SetupStep(f"Asking {mirror} for Gazebo 11"):
                archive.update()
                names = [*archive.with_dependencies(_PROGRAMS), *_HEADERS]
            names = [x for x in names if x not in (*_MACHINE_LIBRARIES, *_SYSTEM_PACKAGES)]
            with SetupStep(f"Fetching Gazebo 11, {len(names)} packages, 0.26 GB") as step:
                files = archive.fetch(names, step.update)
        except ChildError as error:
            raise SetupError(_explanation(mirror, error)) from error
        # The prefix is complete or absent, whenever the process is killed.
        partial = self.folder / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        with SetupStep("Unpacking Gazebo 11") as step:
            unpack(files, partial, step.update)
        Stamps(partial).set(_PACKAGES, self._packages)
        os.replace(partial, self._prefix)
        shutil.rmtree(state)

    def _mirror(self) -> str:
        advice = (
            "this machine has no Gazebo 11. On Ubuntu 22.04 and Debian 11: "
            "sudo apt install gazebo libgazebo-dev. Elsewhere Debian 11's packages are used"
        )
        if platform.machine() != "x86_64":
            raise SetupError(f"{advice}, for x86-64 only; here use sim:=mujoco")
        if missing := missing_tools():
            raise SetupError(f"{advice}, which needs {', '.join(missing)}; or use sim:=mujoco")
        mirror = os.environ.get(MIRROR_VARIABLE) or own_mirror()
        if mirror is None:
            raise SetupError(
                f"{advice}: set {MIRROR_VARIABLE} to the address of a Debian archive "
                "(as after 'deb' in a Debian machine's sources.list); or use sim:=mujoco"
            )
        return mirror


def _explanation(mirror: str, error: ChildError) -> str:
    reasons = [line for line in error.tail if line.startswith("E:")] or error.tail[-1:]
    return (
        f"cannot get Gazebo 11 ({_SUITE}) from {mirror}: {' '.join(reasons[:1])}; check the "
        f"network, or set {MIRROR_VARIABLE} to another Debian archive, and run diffbot again to "
        f"resume (details: {error.log})"
    )


def wants_gazebo(command: str, words: list[str]) -> bool:
    """Return whether a command line of ./diffbot needs Gazebo."""
    if {"-h", "--help", "-s", "--show-args"} & set(words):
        return False
    if command == "test":
        packages = tested_packages(words)
        return not packages or bool({"diffbot_bringup", "diffbot_sim"} & set(packages))
    return any(re.fullmatch(r"(.*[:=])?gazebo", word) for word in words)
