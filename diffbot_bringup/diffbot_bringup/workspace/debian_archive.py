"""Packages of a Debian release, fetched and unpacked without root into a folder of our own.

apt does the work, with its own state in that folder: it checks the archive's signature and every
package's checksum, and takes proxies and passwords from the machine's configuration.
"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diffbot_bringup.workspace.child import run
from diffbot_bringup.workspace.failure import SetupError

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TOOLS = ("apt-get", "dpkg-deb")
_INSTALLED = re.compile(r"^Inst (\S+)")
_FETCHED = re.compile(r"^Get:\d+ \S+ \S+ \S+ (\S+)")

Watch = Callable[[int, int, str], None]
"""Called with (done, total, name of a package)."""


class DebianArchive:
    """A Debian release as apt sees it, beside the machine's own.

    Args:
        mirror: address of a Debian archive.
        suite: name of the release, for example "bullseye".
        state: folder for apt's lists and the downloads.
        log: file that gets apt's output.
        lock: descriptor that the tools inherit, see CheckoutLock.
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
        """Return the packages and all that they depend on."""
        found: list[str] = []

        def watch(line: str) -> None:
            if match := _INSTALLED.match(line):
                found.append(match.group(1))

        self._apt("install", "--simulate", "--no-install-recommends", *names, watch=watch)
        return found

    def fetch(self, names: list[str], watch: Watch) -> list[Path]:
        """Download the packages and return their files; a second call fetches what is missing."""
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
            # root's apt would hand the downloads to a user who cannot write here.
            "APT::Sandbox::User": "root",
            "APT::Architecture": "amd64",
            "APT::Default-Release": "",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        environment = {**os.environ, "LC_ALL": "C"}
        command = ["apt-get", "--quiet", *words, *arguments]
        run(command, environment, self._log, self._lock, watch, folder)


def unpack(files: list[Path], prefix: Path, watch: Watch) -> None:
    """Unpack packages below prefix and delete their files; raise SetupError when one is bad."""
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
    """Return the Debian archive that this machine's apt is configured for; None without one."""
    system = _os_release()
    if system.get("ID") != "debian":
        return None
    # Without release info it answers before any `apt update`, too, as on a fresh machine.
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
