"""The environment of a machine without ROS: ROS 2 as wheels in a virtual environment."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.workspace import cmake_files, installed, pip
from diffbot_bringup.workspace.child import ChildError, run
from diffbot_bringup.workspace.failure import SetupError
from diffbot_bringup.workspace.machine import check_machine
from diffbot_bringup.workspace.progress import Step
from diffbot_bringup.workspace.stamps import Stamps, digest
from diffbot_bringup.workspace.variables import Paths, prepend, with_defaults, without_other_ros

_ENVIRONMENT_STEP = "environment"
_WHEELS_STEP = "wheels"


# What the suite made in .diffbot itself when there was one environment for all interpreters.
_FORMER = ("build", "install", "hooks.json", "log/colcon", "venv")
_FORMER_STAMPS = ("environment", "wheels", "hooks", "packages")


class WheelsEnvironment:
    """A virtual environment in the checkout that holds everything but compiler and headers.

    Each Python has one of its own, beside its build, and `.diffbot/venv` is a link to the one that
    was made last.
    """

    def __init__(self, root: Path) -> None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        # Two Pythons of one version, of the system and of a user, are different ones.
        name = f"python{version}-{digest(sys.base_prefix)[:6]}"
        self.directory = root / ".diffbot" / name
        self._link = root / ".diffbot" / "venv"
        self.prefix = self.directory / "venv"
        self.python = self.prefix / "bin" / "python"
        self.title = f"ROS 2 Kilted from wheels, in .diffbot/{name}"
        self.cmake_arguments = ["-GNinja", f"-DPython3_EXECUTABLE={self.python}"]
        self._constraints = root / "constraints.txt"
        self._stamps = Stamps(self.directory / "stamps")
        self._site = self.prefix / "lib" / f"python{version}" / "site-packages"
        # Virtual environments hold their own path and that of their Python: they do not move.
        self._place = digest(str(self.prefix), version, sys.base_prefix)

    def key(self) -> str:
        """Return a hash of the place, the Python and the wheels' exact versions."""
        return digest(self._place, self._constraints.read_bytes())

    def is_ready(self) -> bool:
        """Tell whether all is installed; a removed Python leaves a dangling link here."""
        return self._is_installed() and self._link.exists()

    def _is_installed(self) -> bool:
        return self._stamps.is_current(_WHEELS_STEP, self.key()) and self.python.exists()

    def prepare(self, lock: int) -> None:
        """Make the virtual environment and install the wheels."""
        if self.is_ready():
            return
        if not self._is_installed():
            check_machine()
            self._remove_former()
            self._make_environment(lock)
            self._install(lock)
            self._stamps.set(_WHEELS_STEP, self.key())
        self._set_link()

    def _make_environment(self, lock: int) -> None:
        current = self._stamps.is_current(_ENVIRONMENT_STEP, self._place)
        if current and self.python.exists():
            return
        self._stamps.clear(_ENVIRONMENT_STEP)
        self._stamps.clear(_WHEELS_STEP)
        with Step(f"Making a virtual environment in .diffbot/{self.directory.name}"):
            for leftover in ("venv", "build", "install"):
                shutil.rmtree(self.directory / leftover, ignore_errors=True)
            command = [sys.executable, "-m", "venv", self.prefix]
            log = self.directory / "log" / "venv.log"
            try:
                run(command, without_other_ros(os.environ), log, lock)
            except ChildError as error:
                raise SetupError(f"cannot make {self.prefix}, see {log}: {error}") from error
        self._stamps.set(_ENVIRONMENT_STEP, self._place)

    def _remove_former(self) -> None:
        former = self._link.parent
        if self._link.is_symlink() or not self._link.is_dir():
            return
        with Step("Removing the environment that all Pythons of this checkout shared"):
            for name in (*(f"stamps/{stamp}" for stamp in _FORMER_STAMPS), *_FORMER):
                path = former / name
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def _set_link(self) -> None:
        new = self._link.with_name(f".venv.{os.getpid()}")
        new.symlink_to(self.prefix.relative_to(self._link.parent))
        os.replace(new, self._link)

    def _install(self, lock: int) -> None:
        self._stamps.clear(_WHEELS_STEP)
        installed.remove_incomplete(self._site)
        log = self.directory / "log" / "pip.log"
        pip.install(self.python, self._constraints, self._site, log, lock)
        include = Path(sysconfig.get_config_var("INCLUDEPY"))
        cmake_files.rewrite(self.prefix, include, self._site)

    def paths(self) -> Paths:
        """Return the wheels' entries: a complete ament prefix."""
        libraries = sorted(str(path) for path in self._site.glob("ros_*.libs"))
        return {
            "PATH": [str(self.prefix / "bin")],
            "LD_LIBRARY_PATH": [str(self.prefix / "lib"), *libraries],
            "AMENT_PREFIX_PATH": [str(self.prefix)],
            "CMAKE_PREFIX_PATH": [str(self.prefix)],
        }

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the user's variables without any other ROS and with this one."""
        variables = prepend(with_defaults(without_other_ros(user)), self.paths())
        variables["VIRTUAL_ENV"] = str(self.prefix)
        variables["RMW_IMPLEMENTATION"] = "rmw_fastrtps_cpp"  # the only one among the wheels
        # The wheels' start-up code starts every Python a second time to set LD_LIBRARY_PATH,
        # unless this says that it is set already.
        variables["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        return variables

    def has_package(self, name: str) -> bool:
        """Tell whether the wheels have the ROS package."""
        return (self.prefix / "share" / name / "package.xml").exists()
