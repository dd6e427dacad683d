# SPDX-License-Identifier: Apache-2.0
"""The robot to export: results combined with its description.

Calibrated lengths take precedence over those given to `identify`, and these over described ones.
The identification measured v / s_v and omega / s_w, with s_v = r' / r and s_w = s_v 2b / 2b' for
calibrated wheels, so that

    K5' = K5 s_v / s_w^2,   K6' = K6 / s_v,   K7' = K7 s_v,   K8' = K8 s_w
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from arc_odometry import WheelGeometry
from diffbot_controllers.tuning import DRIVE, LARGEST_FRICTION, TURN
from diffbot_description import Robot, known_robots, load_robot
from diffbot_export.loop_design import LoopAxis
from diffbot_export.plant import Plant
from diffbot_export.results import FORWARD, SIDES, YAW, Results, SourcedGains
from diffbot_export.sourced_value import SourcedValue, product
from diffbot_ident.estimate import UNITS

TORQUE, VELOCITY, VOLTAGE = "torque", "velocity", "voltage"
# Share of its top speed by which a velocity robot may lag behind a ramp of the command.
LAG = 0.25
# Largest factor between a calibrated length and the described one.
LENGTH_FACTOR = 1.5
BATTERY = 12.0  # V, default of the largest voltage


@dataclass(frozen=True)
class Settings:
    """Settings: rate of the loops, Hz; their least phase margin, degrees; voltage of a motor, V."""

    loop_rate: float = 100.0
    margin: float = 60.0
    voltage: float = BATTERY

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("loop rate", self.loop_rate, 1.0, 10000.0),
            ("margin", self.margin, 20.0, 85.0),
            ("voltage", self.voltage, 0.1, 1000.0),
        ):
            if not low <= value <= high:
                raise ValueError(f"{name} = {value:g}: must be from {low:g} to {high:g}")
        if self.loop_rate != round(self.loop_rate):
            raise ValueError(
                f"loop rate = {self.loop_rate:g} Hz: must be whole, as the controller manager's "
                "update_rate is"
            )


@dataclass(frozen=True)
class AxisLimits:
    """Limits of an axis, in m/s or rad/s and their derivatives; None: unknown.

    The deceleration, > 0, is that when losing speed; commands up to `dead_band` move nothing.
    """

    velocity: SourcedValue | None = None
    acceleration: SourcedValue | None = None
    deceleration: SourcedValue | None = None
    dead_band: SourcedValue | None = None


@dataclass(frozen=True)
class KnownRobot:
    """A robot as exporters need it; `missing` says what is left out of the files, and why."""

    results: Results
    description: Robot | None
    settings: Settings
    name: str
    missing: list[str] = field(default_factory=list)

    @property
    def sources(self) -> list[Path]:
        """Files of results and description that the export is based on."""
        own = [] if self.description is None else [self.description.path]
        return [*self.results.files, *own]

    def copy(self) -> KnownRobot:
        """Return the robot with a list of its own of what is missing."""
        return replace(self, missing=list(self.missing))

    def head(self, subject: str) -> str:
        """Return the first comment of an exported file."""
        return f"{subject} of robot {self.name}, from {', '.join(p.name for p in self.sources)}"

    def gaps(self) -> list[str]:
        """Return the comments of an exported file on what it lacks."""
        return [f"Missing: {text}." for text in dict.fromkeys(self.missing)]

    @property
    def kind(self) -> str | None:
        """TORQUE, VELOCITY or VOLTAGE; None: only a calibration is known."""
        if self.results.torque is not None:
            return TORQUE
        if self.results.velocity:
            return VELOCITY
        return VOLTAGE if self.results.voltage is not None else None

    def described(
        self, value: Callable[[Robot], float], unit: str, *fields: str
    ) -> SourcedValue | None:
        """Return a value of the description, if there is one.

        It is assumed if one of the `fields` that it follows from is.
        """
        if self.description is None:
            return None
        source = f"{fields[0]} of {self.description.path.name}"
        assumed = bool({*fields} & {*self.description.assumed})
        return SourcedValue(value(self.description), unit, source, assumed=assumed)

    def radius(self, side: int) -> SourcedValue | None:
        """Return the radius of the left (0) or right (1) wheel, m; None: unknown."""
        calibration = self.results.calibration
        radii = (calibration.left_radius, calibration.right_radius) if calibration else (None, None)
        return radii[side] or self._identified_with("radius")

    @property
    def track(self) -> SourcedValue | None:
        """Track, m; None: unknown."""
        calibration, voltage = self.results.calibration, self.results.voltage
        calibrated = calibration and calibration.track
        by_voltage = voltage.track if voltage is not None and voltage.unit == "m" else None
        return calibrated or by_voltage or self._identified_with("track")

    def _identified_with(self, length: str) -> SourcedValue | None:
        name = {"radius": "radius", "track": "separation"}[length]
        described = self.described(
            lambda robot: float(getattr(robot.wheels, name)), "m", f"wheels.{name}"
        )
        return self.results.lengths.get(length) or described

    @property
    def geometry(self) -> WheelGeometry | None:
        """Wheel radii and separation; None if a length is not known."""
        left, right, track = self.radius(0), self.radius(1), self.track
        if left is None or right is None or track is None:
            return None
        return WheelGeometry(left.value, right.value, track.value)

    @property
    def k(self) -> dict[str, SourcedValue]:
        """K5..K8 for the calibrated wheels, by name; empty for robots without torque model."""
        torque = self.results.torque
        if torque is None:
            return {}
        geometry = self.geometry
        radius, track = self._identified_with("radius"), self._identified_with("track")
        if self.results.calibration is None or geometry is None or not (radius and track):
            return dict(torque.k)
        s_v = 0.5 * (geometry.left_radius + geometry.right_radius) / radius.value
        s_w = s_v * track.value / geometry.separation
        factors = (s_v / s_w**2, 1.0 / s_v, s_v, s_w)
        if max(abs(s_v - 1.0), abs(s_w - 1.0)) < 1e-9:
            return dict(torque.k)
        return {
            name: quantity.times(factor, unit, f"{quantity.source}, for the calibrated wheels")
            for (name, quantity), unit, factor in zip(torque.k.items(), UNITS, factors, strict=True)
        }

    @property
    def effort_limit(self) -> SourcedValue | None:
        """Maximum effort of a wheel, N m or V; None: unknown."""
        if self.kind == VOLTAGE:
            return SourcedValue(self.settings.voltage, "V", "--voltage")
        if self.kind != TORQUE or self.description is None:
            return None
        name = min(("torque", "traction"), key=partial(getattr, self.description.limits))
        return self.described(lambda r: float(getattr(r.limits, name)), "N m", f"limits.{name}")

    def resistance(self, name: str) -> SourcedValue | None:
        """Return the "viscous" or "coulomb" resistance against turning, identified or described."""
        torque = self.results.torque
        identified = None if torque is None else torque.turning.get(f"turning_{name}")
        if identified or self.description is None or self.description.turning is None:
            return identified
        unit = {"viscous": "N m s/rad", "coulomb": "N m"}[name]
        return self.described(
            lambda robot: float(getattr(robot.turning, name)), unit, f"turning.{name}"
        )


def known_robot(results: Results, robot: str | None, settings: Settings) -> KnownRobot:
    """Combine results with the description of their robot.

    `robot`: name or file; None: the robot file beside the results, or the robot that they name.
    Raises ValueError if there is no such description, or it is of another robot.
    """
    missing = list(results.missing)
    beside = _beside(results)
    if robot is not None:
        description: Robot | None = load_robot(robot)
    elif beside is not None:
        description = load_robot(beside)
    elif results.robot in known_robots():
        description = load_robot(str(results.robot))
    else:
        description = None
        missing.append(
            "everything from the robot file (limits, lengths that were not calibrated, joints): "
            "give --robot FILE"
        )
    named = results.torque.robot if results.torque is not None else ""
    if description is not None and named and description.name not in (named, f"{named}_identified"):
        raise ValueError(
            f"robot '{description.name}': the results are of robot '{named}'; give its description "
            "with --robot"
        )
    name = description.name if description is not None else results.robot or "robot"
    result = KnownRobot(results, description, settings, name, missing)
    _check_lengths(result)
    return result


def _beside(results: Results) -> Path | None:
    names = {results.robot, None if results.torque is None else results.torque.robot} - {None, ""}
    folders = dict.fromkeys(file.parent for file in results.files)
    entries = [
        folder / f"{name}{end}.yaml"
        for folder in folders
        for name in sorted(map(str, names))
        for end in ("_identified", "_calibrated", "")
    ]
    if not names:  # a calibration does not name its robot
        calibrated = [path for folder in folders for path in folder.glob("*_calibrated.yaml")]
        entries = calibrated if len(calibrated) == 1 else []
    return next(filter(Path.is_file, entries), None)


def _check_lengths(robot: KnownRobot) -> None:
    described = robot.description
    if robot.results.calibration is None or described is None:
        return
    wheels = described.wheels
    for length, own in (
        (robot.radius(0), wheels.radius),
        (robot.radius(1), wheels.radius),
        (robot.track, wheels.separation),
    ):
        if length is not None and not 1.0 / LENGTH_FACTOR <= length.value / own <= LENGTH_FACTOR:
            raise ValueError(
                f"{length.source} = {length.value:.4g} m, but {own:.4g} m in the description: "
                f"must be within a factor of {LENGTH_FACTOR:g}; give the calibration and the "
                "description of the same robot"
            )


@dataclass(frozen=True)
class WheelModel:
    """A plant with the intervals of its inertias.

    Attributes:
        inertia: Of the axes [c, d], with intervals.
        unit: Unit of efforts.
        feedforward: Effort per wheel speed at constant speed, effort per rad/s.
    """

    plant: Plant
    inertia: tuple[SourcedValue, SourcedValue]
    unit: str
    feedforward: SourcedValue

    def corners(self) -> tuple[LoopAxis, ...]:
        """Return both axes with the estimate and both interval ends of their inertias."""
        return tuple(
            LoopAxis(inertia, drag, delay)
            for quantity, drag, delay in zip(
                self.inertia, self.plant.total_drag, self.plant.delay, strict=True
            )
            for inertia in sorted({max(quantity.low, 1e-12), quantity.value, quantity.high})
        )


def wheel_model(robot: KnownRobot) -> WheelModel:
    """Return the model to design wheel loops with. Raises ValueError if something is missing."""
    geometry = robot.geometry
    if geometry is None:
        raise ValueError("radius or track of the wheels is not known: give --robot FILE")
    if robot.kind == TORQUE:
        return _torque_model(robot, geometry)
    if robot.kind == VOLTAGE:
        return _voltage_model(robot, geometry)
    raise ValueError(
        "the robot's drivers close the wheels' loops themselves, its commands are velocities"
        if robot.kind == VELOCITY
        else "no dynamics were identified: give the results of ident or identify, too"
    )


def _torque_model(robot: KnownRobot, geometry: WheelGeometry) -> WheelModel:
    torque, k = robot.results.torque, robot.k
    assert torque is not None
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    scale_d = -0.5 * radius / geometry.half_track
    unit = "N m s^2/rad"
    inertia = (
        product(unit, "r / (2 K7)", (k["k7"], -1.0), scale=0.5 * radius),
        product(unit, "r / (2 b |K8|)", (k["k8"], -1.0), scale=scale_d),
    )
    zero = SourcedValue(0.0, "N m", "not identified")
    left, right, c_left, c_right = (
        torque.friction.get(name, zero)
        for name in ("viscous_left", "viscous_right", "coulomb_left", "coulomb_right")
    )
    delay = torque.delay or 0.0
    ratio = radius / geometry.half_track
    viscous, coulomb = (
        0.0 if (floor := robot.resistance(name)) is None else floor.value
        for name in ("viscous", "coulomb")
    )
    plant = Plant(
        geometry,
        (inertia[0].value, inertia[1].value),
        drag=(0.0, 0.5 * ratio**2 * viscous),
        scrub=0.5 * ratio * coulomb,
        delay=(delay, delay),
        viscous=(left.value, right.value),
        dry=(c_left.value, c_right.value),
        coupling=(k["k5"].value, k["k6"].value),
    )
    return WheelModel(plant, inertia, "N m", _mean_friction(left, right))


def _voltage_model(robot: KnownRobot, geometry: WheelGeometry) -> WheelModel:
    voltage = robot.results.voltage
    assert voltage is not None
    if voltage.unit != "m":
        raise ValueError(
            f"positions of the SysId logs are in {voltage.unit}: must be metres, export them in m"
        )
    gains = voltage.gains
    sides = [gains[side] for side in SIDES if side in gains]
    forward = gains.get(FORWARD) or (sides[0] if sides else None)
    yaw = gains.get(YAW)
    if forward is None or yaw is None:
        raise ValueError(
            "ks, kv, ka of the forward and of the yaw axis are both needed: run SysId's linear and "
            "angular tests, and identify both logs together"
        )
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    ratio = radius / geometry.half_track
    inertia = (
        product("V s^2/rad", "r ka", (forward.ka, 1.0), scale=radius),
        product("V s^2/rad", "r ka / b of yaw", (yaw.ka, 1.0), scale=ratio),
    )
    drag = (radius * forward.kv.value, ratio * yaw.kv.value)
    dry = [side.ks.value for side in sides] or [forward.ks.value]
    plant = Plant(
        geometry,
        (inertia[0].value, inertia[1].value),
        drag=drag,
        delay=(_dead_time(forward), _dead_time(yaw)),
        dry=(dry[0], dry[-1]),
    )
    feedforward = product("V s/rad", "r kv of the forward axis", (forward.kv, 1.0), scale=radius)
    return WheelModel(plant, inertia, "V", feedforward)


def _dead_time(gains: SourcedGains) -> float:
    return 0.0 if gains.dead_time is None else max(gains.dead_time.value, 0.0)


def _mean_friction(left: SourcedValue, right: SourcedValue) -> SourcedValue:
    """Return the mean viscous friction, with an interval that holds for any correlation."""
    mean = SourcedValue(
        0.5 * (left.value + right.value), "N m s/rad", "mean viscous friction of the wheels"
    )
    if not (left.identified or right.identified):
        return mean
    return replace(mean, lower=0.5 * (left.low + right.low), upper=0.5 * (left.high + right.high))


def velocity_plant(robot: KnownRobot) -> Plant:
    """Return a velocity-commanded robot as a plant whose efforts are wheel speeds.

    Raises ValueError if an axis was not identified, or lengths are not known.
    """
    geometry, axes = robot.geometry, robot.results.velocity
    if geometry is None or len(axes) < 2:
        raise ValueError("both axes and the wheels' lengths are needed: give --robot FILE")
    forward, yaw = axes["v"], axes["omega"]
    plant = Plant(
        geometry,
        (forward.inertia.value, yaw.inertia.value),
        drag=(forward.drag.value, yaw.drag.value),
        delay=(forward.dead_time.value, yaw.dead_time.value),
    )
    ratio_v, ratio_w = plant.axis_ratio
    bands = [0.0 if axis.dead_band is None else axis.dead_band.value for axis in (forward, yaw)]
    return replace(plant, band=(bands[0] / ratio_v, bands[1] / ratio_w))


def motion_limits(robot: KnownRobot) -> tuple[AxisLimits, AxisLimits]:
    """Return the limits of v and omega; unknown ones are listed in `robot.missing`."""
    if robot.kind == VELOCITY:
        return _velocity_limits(robot)
    try:
        model = wheel_model(robot)
    except ValueError as error:
        robot.missing.append(f"accelerations: {error}")
        return AxisLimits(velocity=_described_speed(robot, 0)), AxisLimits(
            velocity=_described_speed(robot, 1)
        )
    limit = robot.effort_limit
    if limit is None:
        robot.missing.append("accelerations: the torque limit is not known, give --robot FILE")
        return AxisLimits(), AxisLimits()
    linear, angular = (_effort_limits(robot, model, limit, axis) for axis in (0, 1))
    return linear, angular


def _described_speed(robot: KnownRobot, axis: int) -> SourcedValue | None:
    name, unit = (("linear_velocity", "m/s"), ("angular_velocity", "rad/s"))[axis]
    return robot.described(lambda robot: float(getattr(robot.limits, name)), unit, f"limits.{name}")


def _effort_limits(
    robot: KnownRobot, model: WheelModel, limit: SourcedValue, axis: int
) -> AxisLimits:
    """Return the limits of one axis: acceleration at top speed, deceleration close to rest."""
    plant = model.plant
    dry = max(plant.dry) + (0.0, plant.scrub)[axis]
    drag = plant.total_drag[axis]
    ratio, fraction = plant.axis_ratio[axis], (DRIVE, TURN)[axis]
    unit = ("m/s", "rad/s")[axis]
    room = LARGEST_FRICTION * limit.value - dry
    if not room > 0.0:
        robot.missing.append(
            f"accelerations: dry friction of {dry:g} {model.unit} takes more than "
            f"{LARGEST_FRICTION:g} of the limit of {limit.value:g} {model.unit}"
        )
        return AxisLimits()
    top = ratio * room / drag if drag > 0.0 else math.inf
    speed = _described_speed(robot, axis)
    if speed is None or top < speed.value:
        speed = (
            SourcedValue(top, unit, f"where friction takes {LARGEST_FRICTION:g} of the limit")
            if math.isfinite(top)
            else None
        )
    at_top = 0.0 if speed is None else drag * speed.value / ratio
    inertia = model.inertia[axis]
    words = f"{fraction:g} of the limit of {limit.value:g} {model.unit} ({limit.source})"
    fastest = product(
        f"{unit[:-2]}/s^2",
        f"{words}, less friction at top speed",
        (inertia, -1.0),
        scale=ratio * fraction * (limit.value - dry - at_top),
    )
    hardest = product(
        f"{unit[:-2]}/s^2",
        f"{words}, with dry friction",
        (inertia, -1.0),
        scale=ratio * fraction * (limit.value + dry),
    )
    # They are as sure as the limit: K7 and K8 alone have the interval.
    acceleration, deceleration = (
        replace(each, assumed=each.assumed or limit.assumed) for each in (fastest, hardest)
    )
    return AxisLimits(speed, acceleration, deceleration)


def _velocity_limits(robot: KnownRobot) -> tuple[AxisLimits, AxisLimits]:
    results = []
    for index, (name, unit) in enumerate((("v", "m/s"), ("omega", "rad/s"))):
        axis = robot.results.velocity.get(name)
        speed = _described_speed(robot, index)
        if axis is None:
            results.append(AxisLimits(velocity=speed))
            continue
        if speed is None:
            robot.missing.append(f"limits of {name}: its top speed is not known, give --robot FILE")
            results.append(AxisLimits(dead_band=axis.dead_band))
            continue
        lag = axis.inertia.value / axis.drag.value + axis.dead_time.value
        spread = product("s", "time constant", (axis.inertia, 1.0), (axis.drag, -1.0))
        low, high = (end + axis.dead_time.value for end in (spread.low, spread.high))
        most = LAG * speed.value
        ramp = SourcedValue(
            most / lag,
            f"{unit}^2",
            f"the robot lags behind such a ramp by {LAG:g} of its top speed",
            most / high if spread.identified else None,
            most / low if spread.identified else None,
            speed.assumed,
        )
        # The driver does not pass on faster changes of the command.
        up, down = (_least(ramp, own) for own in (axis.acceleration, axis.deceleration))
        results.append(AxisLimits(speed, up, down, axis.dead_band))
    return results[0], results[1]


def _least(ramp: SourcedValue, own: SourcedValue | None) -> SourcedValue:
    return ramp if own is None or ramp.low <= own.low else own


def joints_of(robot: KnownRobot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the joints of the left and of the right wheels. Raises ValueError."""
    if robot.description is None:
        raise ValueError("the names of the wheels' joints are not known: give --robot FILE")
    guessed = {"joints.left", "joints.right"} & {*robot.description.assumed}
    if guessed:
        raise ValueError(
            "the names of the wheels' joints are only assumed: write them into "
            f"{robot.description.path.name} (joints: {{left: NAME, right: NAME}}), and take "
            f"{' and '.join(sorted(guessed))} out of its 'assumed'"
        )
    joints = robot.description.joints
    return joints.left, joints.right
