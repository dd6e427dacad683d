# SPDX-License-Identifier: Apache-2.0
"""Files of K5..K8: reading identified parameters, and storing those of an adaptive run.

They are ROS parameter files. Their content is checked before a law may use it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import yaml

from arc_odometry import Velocity
from diffbot_description import DynamicParameters, Sigma
from diffbot_description.command_ramp import UNLIMITED, CommandRamp, RampCoupling
from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand, DeadBandKind
from diffbot_description.files import parse_yaml, read_regular, write_atomically
from diffbot_description.named_paths import expanded
from diffbot_ident.torque.estimate import (
    FRICTION_NAMES,
    GEAR_NAMES,
    NORMAL_95,
    TURNING_NAMES,
    Four,
)

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


def read_section(path: str, names: Sequence[str], advice: str) -> dict[str, Any]:
    """Return the content of the first `NODE: ros__parameters:` that has one of the names.

    Args:
        path: `~` is expanded.
        advice: How to get a valid file, for messages.

    Raises:
        ValueError: There is no such file, or it is another kind of file; the message names it.
    """
    try:
        text = read_regular(expanded(path))
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error}; {advice}, or give its file") from None
    try:
        document = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error} {advice}") from None
    nodes = document.values() if isinstance(document, dict) else ()
    for node in nodes:
        section = node.get("ros__parameters") if isinstance(node, dict) else None
        if isinstance(section, dict) and any(name in section for name in names):
            return section
    wanted = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    raise ValueError(
        f"parameters '{path}': no {wanted} below '/**: ros__parameters:'; is it another kind of "
        f"file? {advice}"
    )


class DynamicsFile:
    """A ROS parameter file with K5..K8, as written by the identification; it is read once.

    It contains k5, k6, k7, k8 below `NODE: ros__parameters:`, and identified ones also `state`,
    `robot`, `covariance_diagonal` and `verification`, which are checked.

    Args:
        path: `~` is expanded.
        advice: How to get a valid file, for messages.

    Attributes:
        section: Content of that node's parameters.

    Raises:
        ValueError: There is no such file, or it is another kind of file. The methods raise it for
            unusable values. The message names the file, the field, its value and what to change.
    """

    def __init__(self, path: str, advice: str = ADVICE) -> None:
        self.section = read_section(path, NAMES, advice)
        self._path = path

    def dynamics(self, robot: str) -> DynamicParameters:
        """Return K5..K8 for the robot of this name.

        If k5 and k6 have infinite variances, the centre of mass is assumed on the axle: both are 0.
        """
        with _named(self._path):
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
        """Return the floor's resistance against turning, [viscous in N m s/rad, constant in N m].

        None as in `friction`.
        """
        return self._resistance("turning", TURNING_NAMES)

    def torque_delay(self) -> float | None:
        """Return the time from a torque's report to its effect, s; None if not certain.

        Raises:
            ValueError: The delay is not between 0 and LONGEST_DELAY.
        """
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
        with _named(self._path, ADVICE):
            if not isinstance(section, dict):
                raise ValueError(f"{what} = {section!r}: must hold {', '.join(names)}")
            return tuple(_resistance(f"{what} {name}", section.get(name)) for name in names)


@contextmanager
def _named(path: str, advice: str = "") -> Iterator[None]:
    """Put the file's path before the text of a ValueError, and the advice behind it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error}{advice and f'; {advice}'}") from None


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
    """Return the dynamics after checking that a law may use them.

    Conservation of energy requires K5 K6 <= 0. Wrong signs within the uncertainty are accepted.

    Args:
        values: K5..K8.
        variances: 0 where unknown.

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
    """File that stores the parameters in use as the start of a later run.

    It is a DynamicsFile, too; `~` in the path is expanded.

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
            ValueError: The file contains no usable parameters; the message states why.
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


# Reading of identified sigma1..sigma4, with checks of whether a law may use them.

SIGMA_ADVICE = "identify the robot again: diffbot identify RECORDING"
SIGMA_NAMES = ("sigma1", "sigma2", "sigma3", "sigma4")
UNITS = (" s", " s", "", "")


@dataclass(frozen=True)
class IdentifiedSigma:
    """Known properties of a robot with velocity commands.

    Attributes:
        sigma: Parameters of (3).
        variances: Of sigma1..sigma4, in the squares of their units; 0 where exact, NaN: unknown.
        dead_time: From a command to its effect on v and on omega, s; None: not known.
        dead_band: Of the commands of v and of omega, m/s and rad/s.
        ramp: Limits of the driver's acceleration; None: none.
    """

    sigma: Sigma
    variances: tuple[float, ...] = (math.nan,) * 4
    dead_time: tuple[float, float] | None = None
    dead_band: tuple[DeadBand, DeadBand] = (NO_DEAD_BAND, NO_DEAD_BAND)
    ramp: CommandRamp | None = None


def read_sigma(path: str) -> IdentifiedSigma:
    """Read sigma from a ROS parameter file as written by `identify`: velocity_parameters.yaml.

    Below `NODE: ros__parameters:` it has the section of `identified_from`.

    Raises:
        ValueError: There is no such file, or it contains no usable parameters; the message names
            the file, the field, its value, its limit and what to change.
    """
    section = read_section(path, ("sigma",), SIGMA_ADVICE)
    with _named(path, ADVICE):
        return identified_from(section)


def identified_from(section: Mapping[str, Any]) -> IdentifiedSigma:
    """Return what a section of an identification tells of a velocity robot.

    It has `sigma` ([sigma1 in s, sigma2 in s, sigma3, sigma4]) and, where identified,
    `covariance_diagonal` (4 variances), `dead_time` ([v, omega], s), `dead_band` ([v, omega], m/s,
    rad/s) with `dead_band_kind` (offset or threshold), `acceleration_limit` and
    `deceleration_limit` ([v, omega], m/s^2, rad/s^2; infinite: none) with `ramp_coupling` (own,
    scaled or wheels) and `ramp_before_dead_band`, and `exponent` (1, 1).

    Raises:
        ValueError: It contains no usable parameters; the message names the field, its value and its
            limit.
    """
    known = IdentifiedSigma(sigma_from(_numbers(section, "sigma", 4)))
    if "exponent" in section:
        _check_linear(_numbers(section, "exponent", 2))
    if "covariance_diagonal" in section:
        known = replace(known, variances=_numbers(section, "covariance_diagonal", 4))
        _check_identified(known.variances)
    if "dead_time" in section:
        late = _numbers(section, "dead_time", 2)
        _check_dead_time(late)
        known = replace(known, dead_time=(late[0], late[1]))
    if "dead_band" in section:
        known = replace(known, dead_band=_dead_bands(section))
    return replace(known, ramp=_ramp(section))


def sigma_from(values: tuple[float, ...]) -> Sigma:
    """Return sigma, [sigma1 in s, sigma2 in s, sigma3, sigma4], for a law.

    Raises:
        ValueError: They are not four finite numbers > 0; the message names the first wrong one.
    """
    if len(values) != len(SIGMA_NAMES):
        raise ValueError(
            f"sigma = {list(values)}: must be 4 numbers, sigma1 in s, sigma2 in s, sigma3, sigma4"
        )
    for name, value, unit in zip(SIGMA_NAMES, values, UNITS, strict=True):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} = {value}{unit}: must be finite and > 0")
    return Sigma(*values)


def _numbers(section: Mapping[str, Any], name: str, count: int) -> tuple[float, ...]:
    values = section.get(name)
    if not (
        isinstance(values, list)
        and all(type(value) in (int, float) for value in values)
        and len(values) == count
    ):
        raise ValueError(f"{name} = {values!r}: must be a list of {count} numbers")
    return tuple(map(float, values))


def _check_identified(variances: tuple[float, ...]) -> None:
    for name, variance in zip(SIGMA_NAMES, variances, strict=True):
        if math.isnan(variance):
            continue  # unknown variances of files written by hand are accepted
        if not 0.0 <= variance < math.inf:
            raise ValueError(
                f"variance of {name} = {variance}: must be >= 0 and finite, else {name} is not "
                "identified"
            )


def _check_linear(exponents: tuple[float, ...]) -> None:
    for axis, value in zip(("v", "omega"), exponents, strict=True):
        if value != 1.0:
            raise ValueError(
                f"exponent of {axis} = {value}: must be 1, as the law supports only (3), in "
                "which commands act without exponents"
            )


def _check_dead_time(dead_time: tuple[float, ...]) -> None:
    for axis, value in zip(("v", "omega"), dead_time, strict=True):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"dead_time of {axis} = {value} s: must be from 0 to 1")


def _dead_bands(section: Mapping[str, Any]) -> tuple[DeadBand, DeadBand]:
    widths = _numbers(section, "dead_band", 2)
    kinds = section.get("dead_band_kind", [DeadBandKind.OFFSET.value] * 2)
    if not (isinstance(kinds, list) and len(kinds) == 2):
        raise ValueError(f"dead_band_kind = {kinds!r}: must be two kinds, of v and omega")
    for axis, width, unit in zip(("v", "omega"), widths, ("m/s", "rad/s"), strict=True):
        if not 0.0 <= width < math.inf:
            raise ValueError(f"dead_band of {axis} = {width} {unit}: must be finite and >= 0")
    bands = [
        DeadBand(width, DeadBandKind.named(str(kind)))
        for width, kind in zip(widths, kinds, strict=True)
    ]
    if "dead_band_estimate" in section and "dead_band_variance" in section:
        estimates = _numbers(section, "dead_band_estimate", 2)
        variances = _numbers(section, "dead_band_variance", 2)
        bands = [_with_bound(*each) for each in zip(bands, estimates, variances, strict=True)]
    return bands[0], bands[1]


def _with_bound(band: DeadBand, estimate: float, variance: float) -> DeadBand:
    """Return a threshold that no robot of these numbers has, as a command below it would be lost.

    No command is then between the two: a smaller one is sent as pulses above the threshold.
    """
    most = estimate + NORMAL_95 * math.sqrt(variance) if variance >= 0.0 else math.inf
    if band.kind is not DeadBandKind.THRESHOLD or band.width == 0.0 or not math.isfinite(most):
        return band
    return replace(band, width=max(band.width, most))


def _ramp(section: Mapping[str, Any]) -> CommandRamp | None:
    if "acceleration_limit" not in section:
        return None
    speeding = Velocity(*_numbers(section, "acceleration_limit", 2))
    braking = speeding
    if "deceleration_limit" in section:
        braking = Velocity(*_numbers(section, "deceleration_limit", 2))
    before = section.get("ramp_before_dead_band", False)
    if not isinstance(before, bool):
        raise ValueError(f"ramp_before_dead_band = {before!r}: must be true or false")
    coupling = section.get("ramp_coupling", RampCoupling.OWN.value)
    names = [each.value for each in RampCoupling]
    if coupling not in names:
        raise ValueError(f"ramp_coupling = {coupling!r}: must be one of {', '.join(names)}")
    ramp = CommandRamp(speeding, braking, RampCoupling(coupling), before)
    # Without a limit there is no ramp.
    return None if ramp.slowest == UNLIMITED else ramp
