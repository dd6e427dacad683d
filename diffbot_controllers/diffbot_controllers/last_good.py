"""The file of adapted parameters that a later run begins with."""

from __future__ import annotations

from pathlib import Path

import yaml

from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.parameter_file import NAMES, read_dynamics
from diffbot_description import write_atomically

HEADER = """\
# Dynamic parameters k5 to k8 that an adaptive controller had in use, for a run to begin with.
"""
PERIOD = 10.0  # s of robot time between two writings


class LastGood:
    """Keeps parameters in use in a file, in the form that `read_dynamics` reads.

    Args:
        path: of the file; `~` is expanded. Its folder is made.
        robot: name of the robot.

    Raises:
        ValueError: the folder cannot be made.
    """

    def __init__(self, path: str, robot: str) -> None:
        self.path = Path(path).expanduser()
        self._robot = robot
        self._kept: BodyDynamics | None = None
        self._time = -PERIOD
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"parameter 'last_good' = '{path}': {error.strerror}; give a file in a folder that "
                "can be made and written"
            ) from None

    def restore(self) -> BodyDynamics | None:
        """The parameters in the file; None where there is no file yet.

        Raises:
            ValueError: the file holds nothing that a law may use; the message says why.
        """
        if not self.path.exists():
            return None
        self._kept = read_dynamics(str(self.path), self._robot)
        return self._kept

    def keep(self, dynamics: BodyDynamics, time: float) -> None:
        """Write new parameters, at most once per PERIOD; time: robot time, s.

        Raises:
            OSError: they cannot be written; the old file is whole.
        """
        if dynamics != self._kept and not 0.0 <= time - self._time < PERIOD:
            self.write(dynamics)
            self._time = time

    def write(self, dynamics: BodyDynamics) -> None:
        """Write parameters now; the file is either the old or the whole new one.

        Raises:
            OSError: they cannot be written.
        """
        if dynamics == self._kept:
            return
        values = {name: getattr(dynamics, name) for name in NAMES}
        parameters = {**values, "state": "estimated", "robot": self._robot}
        document = {"/**": {"ros__parameters": parameters}}
        write_atomically(self.path, HEADER + yaml.safe_dump(document, sort_keys=False))
        self._kept = dynamics
