# SPDX-License-Identifier: Apache-2.0
"""Files of K5..K8: reading identified parameters, and storing those of an adaptive run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import yaml

from diffbot_description import DynamicParameters
from diffbot_description.files import named_file, read_section, write_atomically
from diffbot_description.named_paths import expanded
from diffbot_ident.estimate import FRICTION_NAMES, GEAR_NAMES, TURNING_NAMES, Four

NAMES = DynamicParameters._fields
FRICTION_SIGMAS = 4.0  # friction may be below 0 by this many standard deviations
SIGMAS = 2.0  # a value may have the wrong sign within this many standard deviations
ADVICE = "identify the robot again: launch ident"
HEADER = """\
# Dynamic parameters k5 to k8, and the wheels' friction in N m s/rad and N m, that an adaptive
# controller had in use, for a run to begin with.
"""
LONGEST_DELAY = 0.5  # largest torque delay over which a law can predict, s
CHECKPOINT_PERIOD = 10.0  # robot time between two writings, s


class DynamicsFile:
    """A ROS parameter file with K5..K8, as written by the identification; it is read once.

    It has k5, k6, k7, k8 below `NODE: ros__parameters:`, and identified ones also `state`, `robot`,
    `covariance_diagonal` and `verification`, which are checked.

    Raises:
        ValueError: There is no such file, or it is another kind of file; by the methods, for
            unusable values. The message names the file, the field, its value and what to change.
    """

    def __init__(self, path: str, advice: str = ADVICE) -> None:
        self.section = read_section(path, NAMES, advice)
        self._path = path

    def dynamics(self, robot: str) -> DynamicParameters:
        """Return K5..K8 for the robot of this name.

        If k5 and k6 have infinite variances, the centre of mass is assumed on the axle: both are 0.
        """
        with named_file(self._path):
            return _checked(self.section, robot)

    def friction(self) -> tuple[float | None, ...]:
        """Return the friction [viscous left, right in N m s/rad, Coulomb left, right in N m].

        None where missing or not identifiable. A value below 0 within its uncertainty is 0.
        """
        return self._resistance("friction", FRICTION_NAMES)

    def gear_loss(self) -> tuple[float, float] | None:
        """Return the fraction of its torque that each wheel's gear loses, [left, right].

        0 where the file has none, as its Coulomb friction then includes it; None without friction.
        """
        if "friction" not in self.section:
            return None
        left, right = (loss or 0.0 for loss in self._resistance("friction", GEAR_NAMES))
        for name, loss in zip(GEAR_NAMES, (left, right), strict=True):
            if loss >= 1.0:
                raise ValueError(
                    f"parameters '{self._path}': friction {name} = {loss:g}: must be < 1, a share "
                    f"of the torque; {ADVICE}"
                )
        return left, right

    def turning(self) -> tuple[float | None, ...]:
        """Return the floor's resistance, [viscous in N m s/rad, constant in N m]."""
        return self._resistance("turning", TURNING_NAMES)

    def torque_delay(self) -> float | None:
        """Return the time from a torque's report to its effect, s; None: unknown."""
        delay = 1.0
        for name in ("torque_delay", "control_period"):
            value = self.section.get(name, math.nan)
            if type(value) not in (int, float):
                raise ValueError(
                    f"parameters '{self._path}': {name} = {value!r}: must be a number; {ADVICE}"
                )
            delay *= value
        if math.isnan(delay):
            return None
        if not 0.0 <= delay <= LONGEST_DELAY:
            raise ValueError(
                f"parameters '{self._path}': torque_delay times control_period = {delay:g} s: must "
                f"be >= 0 and <= {LONGEST_DELAY:g} s; shorten the delay of the drive, or {ADVICE}"
            )
        return delay

    def _resistance(self, what: str, names: Sequence[str]) -> tuple[float | None, ...]:
        section = self.section.get(what)
        if section is None:
            return (None,) * len(names)
        with named_file(self._path, ADVICE):
            if not isinstance(section, dict):
                raise ValueError(f"{what} = {section!r}: must hold {', '.join(names)}")
            return tuple(_resistance(f"{what} {name}", section.get(name)) for name in names)


def _checked(section: dict[str, Any], robot: str) -> DynamicParameters:
    values = []
    for name in NAMES:
        value = section.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ValueError(f"{name} = {value!r}: must be a number; {ADVICE}")
        values.append(float(value))
    state, other = section.get("state", "estimated"), section.get("robot", robot)
    if state != "estimated":
        raise ValueError(f"state = {state!r}: must be 'estimated'; {ADVICE}, for longer")
    if other != robot:
        raise ValueError(
            f"robot = {other!r}: the parameters of another robot than {robot!r}; {ADVICE}"
        )
    variances = section.get("covariance_diagonal", [0.0] * 4)
    if not (isinstance(variances, list) and len(variances) == 4):
        raise ValueError(f"covariance_diagonal = {variances!r}: must be 4 variances; {ADVICE}")
    _check_verified(section.get("verification"))
    if state == "estimated" and all(variance == math.inf for variance in variances[:2]):
        values[:2], variances = (0.0, 0.0), [0.0, 0.0, *variances[2:]]
    return usable_dynamics(values, variances)


def _resistance(name: str, entry: Any) -> float | None:
    """Return one value of the friction or the floor's resistance; None if unknown."""
    if entry is None:
        return None
    value, variance = entry, 0.0
    if isinstance(entry, dict):
        value, variance = entry.get("value"), entry.get("variance", 0.0)
        if "std" in entry and type(entry["std"]) in (int, float):
            variance = entry["std"] ** 2
    for what, number in (("", value), ("variance of ", variance)):
        if type(number) not in (int, float):
            raise ValueError(f"{what}{name} = {number!r}: must be a number")
    if variance == math.inf or math.isnan(value):
        return None
    if not (math.isfinite(value) and variance >= 0.0):
        raise ValueError(f"{name} = {value}, variance {variance}: must be finite, >= 0")
    if value < -FRICTION_SIGMAS * math.sqrt(variance):
        raise ValueError(f"{name} = {value}: must be >= 0, friction cannot drive a wheel")
    return max(float(value), 0.0)


def _check_verified(verification: Any) -> None:
    """Reject parameters not confirmed by a held-out motion; files written by hand are trusted."""
    if verification is None:
        return
    result = verification.get("state") if isinstance(verification, dict) else verification
    if result != "verified":
        reason = verification.get("reason", "") if isinstance(verification, dict) else ""
        raise ValueError(
            f"verification = {result!r}{f' ({reason})' if reason else ''}: must be 'verified', by "
            "a motion that the parameters were not identified from; let the identification run to "
            "its end, with verification > 0"
        )


def usable_dynamics(values: Sequence[float], variances: Sequence[float]) -> DynamicParameters:
    """Return K5..K8 after checking that a law may use them; variances are 0 where unknown.

    Conservation of energy requires K5 K6 <= 0. Wrong signs within the uncertainty are accepted.

    Raises:
        ValueError: A value or variance is not finite, or the values are not those of a robot.
    """
    for name, variance in zip(NAMES, variances, strict=True):
        if type(variance) not in (int, float) or not 0.0 <= variance < math.inf:
            raise ValueError(
                f"variance of {name} = {variance}: must be finite, else {name} is not identified; "
                f"{ADVICE}, with more yaw rate"
            )
    dynamics = DynamicParameters(*values).checked()
    k5, k6 = values[0], values[1]
    significant = all(
        abs(value) > SIGMAS * math.sqrt(variance)
        for value, variance in zip((k5, k6), variances[:2], strict=True)
    )
    if k5 * k6 > 0.0 and significant:
        raise ValueError(
            f"k5 = {k5} and k6 = {k6} have the same sign, which no robot has (it would gain energy "
            f"by turning); look for slip, and {ADVICE}"
        )
    return dynamics


class ParameterCheckpoint:
    """File, also a DynamicsFile, that stores the parameters in use as the start of a later run.

    Raises:
        ValueError: The folder cannot be created.
    """

    def __init__(self, path: str, robot: str) -> None:
        self.path = expanded(path)
        self._robot = robot
        self._kept: tuple[DynamicParameters, Four] | None = None
        self._time = -CHECKPOINT_PERIOD
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"parameter 'last_good' = '{path}': {error.strerror}; give a file in a folder that "
                "can be created and written"
            ) from None

    def restore(self) -> tuple[DynamicParameters, tuple[float | None, ...]] | None:
        """Return K5..K8 and the friction, as in DynamicsFile, of the file; None without a file.

        Raises:
            ValueError: The file contains no usable parameters.
        """
        if not self.path.exists():
            return None
        file = DynamicsFile(str(self.path))
        return file.dynamics(self._robot), file.friction()

    def keep(self, dynamics: DynamicParameters, friction: Four, time: float) -> None:
        """Write new parameters, at most once per CHECKPOINT_PERIOD of the robot time `time`, s.

        `friction` is that of friction_values.

        Raises:
            OSError: They cannot be written; the old file stays intact.
        """
        new = (dynamics, friction) != self._kept
        if new and not 0.0 <= time - self._time < CHECKPOINT_PERIOD:
            self.write(dynamics, friction)
            self._time = time

    def write(self, dynamics: DynamicParameters, friction: Four) -> None:
        """Write parameters at once, with the arguments and errors of `keep`."""
        if (dynamics, friction) == self._kept:
            return
        parameters = {
            **dynamics._asdict(),
            "friction": dict(zip(FRICTION_NAMES, friction, strict=True)),
            "state": "estimated",
            "robot": self._robot,
        }
        document = {"/**": {"ros__parameters": parameters}}
        write_atomically(self.path, HEADER + yaml.safe_dump(document, sort_keys=False))
        self._kept = dynamics, friction
