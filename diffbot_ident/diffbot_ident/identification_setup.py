# SPDX-License-Identifier: Apache-2.0
"""Settings of an identification, and the run that they describe: for the node and simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from diffbot_description import Robot
from diffbot_description.arena import Arena
from diffbot_description.robot import MotorDrive
from diffbot_ident.estimate import Estimator
from diffbot_ident.estimators import ESTIMATORS, make_estimator
from diffbot_ident.excitation.body_model import BodyPrior
from diffbot_ident.excitation.excitations import KINDS, Excitation, make_excitation
from diffbot_ident.excitation.prbs import LEVELS
from diffbot_ident.identification_run import Identification
from diffbot_ident.interpretation.effort_units import EffortCheck, EffortUnit
from diffbot_ident.interpretation.fleet_prior import NONE, FleetPrior, PriorEstimator, read_prior
from diffbot_ident.interpretation.geometry_errors import DimensionedEstimator, wants_dimensions
from diffbot_ident.interpretation.yaw_gyro import YawGyro
from diffbot_ident.precision import Precision
from diffbot_ident.prediction_model import Model
from diffbot_ident.runaway import RunawayLimits
from diffbot_ident.torque.learning import MotionScale
from diffbot_node.parameter_fields import parameter

STATUS_RATE = 50.0  # states reported per second of robot time


@dataclass(frozen=True)
class IdentSettings:
    """Settings of an identification of K5 to K8."""

    duration: float = parameter(
        60.0, "maximum duration of the excitation, s of robot time", above=0.0
    )
    until: str = parameter(
        "",
        "precision at which the excitation ends early: half widths of the 95 % intervals, such "
        "as 'K5 5% K6 5% K7 1% K8 1%'; empty or none: never",
    )
    verification: float = parameter(
        10.0,
        "duration of a second motion, after the excitation, that verifies the result, s of robot "
        "time; 0: none",
        minimum=0.0,
    )
    estimator: str = parameter(
        "integral",
        "integral: windowed integral regressors with friction; rls: Lages (2017)",
        choices=ESTIMATORS,
    )
    window: float = parameter(
        0.1, "length of the integral estimator's windows, s", above=0.0, maximum=1.0
    )
    prior: str = parameter(
        NONE,
        "file prior_TYPE.yaml of `diffbot fleet` that the estimate begins with: what robots of "
        "this type are like; dropped, with a warning, where the data contradict it; not with rls",
    )
    excitation: str = parameter(
        "prbs",
        "prbs: pseudo-random bits; multisine: sums of sines; optimised: the torques most "
        "informative about K5..K8",
        choices=KINDS,
    )
    arena: str = parameter(
        "",
        "room to keep the whole robot in, length x width in m, such as 3x3; it starts in the "
        "middle, heading along the length; empty: no bound",
    )
    amplitude: float = parameter(0.0, "largest torque, N m; 0 takes the robot's own", minimum=0.0)
    hold: int = parameter(0, "control periods that a torque lasts; 0: the robot's own", minimum=0)
    register: int = parameter(
        0, "bits of the PRBS shift register, 7 to 15; 0: the robot's own", minimum=0
    )
    levels: int = parameter(
        2,
        "torque levels of prbs: 2, the amplitude with either sign, or 4, half of it for a quarter "
        "of the bits, which tells what gears lose under load from Coulomb friction",
        minimum=min(LEVELS),
        maximum=max(LEVELS),
    )
    period: float = parameter(0.01, "control period, s", minimum=0.001, maximum=0.05)
    seed: int = parameter(0, "seed of all random choices of the excitation", minimum=0)
    velocity_source: str = parameter(
        "position",
        "velocities from differences of the wheels' angles, or, with estimator rls only, as the "
        "joint states report them",
        choices=("position", "velocity"),
    )


def fleet_prior_of(settings: IdentSettings, robot: Robot) -> FleetPrior | None:
    """Return the prior in the file that the settings name, if any.

    Raises:
        ValueError: It cannot be read, or is of another robot, or the estimator cannot use it.
    """
    if settings.prior in ("", NONE):
        return None
    if settings.estimator == "rls":
        raise ValueError(
            f"parameter 'prior' = '{settings.prior}': estimator rls has no reliable "
            "intervals to weight it with; use integral"
        )
    return read_prior(settings.prior, robot)


def make_identification(
    settings: IdentSettings,
    robot: Robot,
    prior: BodyPrior,
    *,
    fleet: FleetPrior | None = None,
    gyro: YawGyro | None = None,
) -> Identification:
    """Return a new identification run, or ValueError if a setting does not suit the robot.

    `prior`: what the robot's description says; `fleet`: `fleet_prior_of` the settings.
    """
    own, arena = robot.excitation, Arena.parse(settings.arena)
    # On another excitation an overfitted model fails.
    other = replace(
        settings,
        excitation="prbs" if settings.excitation == "multisine" else "multisine",
        seed=settings.seed + 1,
    )
    amplitude = settings.amplitude or own.amplitude
    return Identification(
        _estimator_of(settings, robot, amplitude, fleet, gyro),
        _excitation_of(settings, robot, prior, arena),
        robot.geometry,
        RunawayLimits(
            own.linear_velocity,
            own.angular_velocity,
            amplitude,
            robot.name,
            robot.limits.wheel_velocity or math.inf,
        ),
        settings.duration,
        check=lambda: _excitation_of(other, robot, prior, arena),
        verification=settings.verification,
        nominal=Model.described(prior.values, robot),
        until=Precision.parse(settings.until),
        efforts=EffortCheck(robot.geometry, robot, _effort_unit_of(robot.drive)),
    )


def _estimator_of(
    settings: IdentSettings,
    robot: Robot,
    amplitude: float,
    fleet: FleetPrior | None,
    gyro: YawGyro | None,
) -> Estimator:
    own, geometry = robot.excitation, robot.geometry
    estimator = make_estimator(
        settings.estimator,
        geometry,
        MotionScale(own.linear_velocity, own.angular_velocity, amplitude),
        window=settings.window,
        velocity_source=settings.velocity_source,
        turning=robot.turning is not None,
    )
    if fleet is not None:
        # Before gyro and dimensions: the fleet was identified from wheels alone.
        estimator = PriorEstimator(estimator, fleet, geometry.half_track)
    if wants_dimensions(robot.uncertainty, gyro=gyro is not None):
        estimator = DimensionedEstimator(estimator, geometry, robot.uncertainty, gyro)
    return estimator


def _excitation_of(
    settings: IdentSettings, robot: Robot, prior: BodyPrior, arena: Arena | None
) -> Excitation:
    return make_excitation(
        settings.excitation,
        robot,
        settings.seed,
        amplitude=settings.amplitude or None,
        hold=settings.hold or None,
        register=settings.register or None,
        arena=arena,
        prior=prior,
        period=settings.period,
        levels=settings.levels,
    )


def _effort_unit_of(drive: MotorDrive) -> EffortUnit:
    constant = 0.5 * sum(drive.torque_of((1.0, 1.0)))
    return EffortUnit("N m" if drive.torque_constant is None else drive.effort_unit, constant)
