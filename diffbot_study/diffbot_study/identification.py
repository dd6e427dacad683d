"""The identification of launch/ident.launch.xml in one process, without a ROS graph.

The same excitation, sensors and estimator as the nodes': for tests and benchmarks over many seeds.
The nodes' torque limiter is left out; it does not touch an excitation inside the robot's limits.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arc_odometry import DiffOdometry, JointSample, WheelGeometry
from diffbot_description import DynamicParameters, Robot, load_robot
from diffbot_ident.excitation.arena import Arena, extent, outline
from diffbot_ident.excitation.body_model import BodyPrior, Motion
from diffbot_ident.excitation.excitations import Excitation, make_excitation, nominal_prior
from diffbot_ident.excitation.signals import GuardedPrbs, wheel_speed_limit
from diffbot_ident.torque.estimate import Estimate, Estimator, State
from diffbot_ident.torque.estimators import make_estimator
from diffbot_ident.torque.integral_rows import MotionScale
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot

PERIOD = 0.01  # control period, s
LEARN = 1.0  # time after which the excitation learns the estimate, again and again, s


@dataclass(frozen=True)
class Rehearsal:
    """What one run gave.

    Attributes:
        estimate: of K5..K8.
        truth: closed form of K5..K8 of the simulated robot, shape (4,).
        speeds: largest true |v| and |omega| as shares of the excitation's limits, shape (2,).
        extent: largest true |x| and |y| of any part of the robot, m, shape (2,).
        times: of the history, s since the beginning, shape (n,).
        history: estimates of K5..K8 at these times, shape (n, 4).
        information: bits about K5..K8 that the measured motion gained; NaN where not counted.
        predicted_information: the same as predicted; NaN where the excitation predicts nothing.
        guarded: share of the wheel torques that were replaced to keep to the limits.
    """

    estimate: Estimate
    truth: NDArray[np.float64]
    speeds: NDArray[np.float64]
    extent: NDArray[np.float64]
    times: NDArray[np.float64]
    history: NDArray[np.float64]
    information: float
    predicted_information: float
    guarded: float

    @property
    def errors(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in % of the closed form, shape (4,)."""
        return 100.0 * (np.array(self.estimate.values) / self.truth - 1.0)

    @property
    def error_history(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in % of the closed form at the times of the history, (n, 4)."""
        return 100.0 * (self.history / self.truth - 1.0)

    @property
    def normalised_errors(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in standard deviations as the estimator states them, shape (4,)."""
        return (np.array(self.estimate.values) - self.truth) / np.sqrt(self.estimate.variances)


def rehearse(
    robot_name: str,
    engine: str,
    seed: int,
    seconds: float,
    encoder_counts: int,
    torque_noise: float = 0.0,
    *,
    excitation: str = "prbs",
    arena: Arena | None = None,
    hold: int | None = None,
    register: int | None = None,
    friction: tuple[tuple[float, float], tuple[float, float]] | None = None,
    torque_delay: int = 0,
    prior: BodyPrior | None = None,
    record: float = 1.0,
    estimator: str = "integral",
) -> Rehearsal:
    """Excite a simulated robot at rest for a while and identify it.

    Args:
        robot_name: name of a robot, or the path of its YAML.
        engine: "ideal", "mujoco" or "gazebo".
        seed: of the excitation and of the noise.
        seconds: robot time, s.
        encoder_counts: per wheel revolution; 0 for exact angles.
        torque_noise: standard deviation of the acting torque, as a share of it.
        excitation: "prbs", "multisine" or "optimised".
        arena: that the robot should stay in; None for no bound.
        hold: control periods of a bit or stage of the excitation; None for the robot's own.
        register: bits of the PRBS's shift register; None for the robot's own.
        friction: viscous [left, right] in N m s/rad and Coulomb [left, right] in N m; None for the
            robot's own.
        torque_delay: control periods between a torque's command and its action.
        prior: what the excitation believes of the robot at the beginning; None for the closed form.
        record: time between two entries of the history, s.
        estimator: "integral", "rls" or "kalman".
    """
    robot = load_robot(robot_name)
    if friction is not None:
        viscous, coulomb = friction
        robot = replace(robot, friction=replace(robot.friction, viscous=viscous, coulomb=coulomb))
    # Making a URDF takes longer than a short run; prbs without an arena predicts nothing.
    if prior is None and (excitation != "prbs" or arena is not None):
        prior = nominal_prior(load_robot(robot_name))
    source = make_excitation(
        excitation,
        robot,
        seed,
        hold=hold,
        register=register,
        arena=arena,
        prior=prior,
        period=PERIOD,
    )
    with closing(make_simulator(engine, robot)) as simulator:
        virtual = VirtualRobot(
            simulator,
            Actuator(robot.limits.torque, torque_delay, torque_noise, seed),
            Encoders(encoder_counts, PERIOD, seed),
            PERIOD,
        )
        steps, every = round(seconds / PERIOD), round(record / PERIOD)
        return _identify(virtual, robot, source, estimator, steps, every)


def _identify(
    virtual: VirtualRobot,
    robot: Robot,
    source: Excitation,
    estimator_name: str,
    steps: int,
    record: int,
) -> Rehearsal:
    limits = np.array([robot.excitation.linear_velocity, robot.excitation.angular_velocity])
    geometry = robot.geometry
    scale = MotionScale(*limits.tolist(), robot.excitation.amplitude)
    estimator = make_estimator(estimator_name, geometry, scale)
    odometry = DiffOdometry(geometry)
    corners = outline(robot)
    fastest, farthest = np.zeros(2), np.array(extent(corners, (0.0, 0.0, 0.0)))
    history = []
    sample = virtual.sample
    for step in range(1, steps + 1):
        estimator.update(sample)
        odometry.update(sample.stamp, sample.position)
        velocity = estimator.velocity or (0.0, 0.0)
        motion = Motion(odometry.pose, velocity, geometry.wheel_velocity(*velocity))
        sample = virtual.advance(source.torque(motion))
        fastest = np.maximum(fastest, np.abs(virtual.engine.velocity()))
        farthest = np.maximum(farthest, extent(corners, virtual.engine.pose()))
        if step % record == 0:
            history.append(estimator.estimate().values)
        if step % round(LEARN / PERIOD) == 0:
            _teach(source, estimator)
    estimator.update(sample)
    truth = virtual.engine.parameters()
    return Rehearsal(
        estimator.estimate(),
        np.array(truth),
        fastest / limits,
        farthest,
        PERIOD * record * np.arange(1, len(history) + 1),
        np.reshape(history, (-1, 4)),
        source.information,
        source.predicted_information,
        source.guarded / (2 * steps),
    )


def _teach(source: Excitation, estimator: Estimator) -> None:
    """Let the excitation predict with what is known by now, as the ident node does."""
    found = estimator.estimate()
    if found.state is State.ESTIMATED:
        source.learn(found)


# ---
# Runs of simulated robots, recorded once so that any number of estimators can learn from them.


@dataclass(frozen=True)
class Setting:
    """One kind of run.

    Attributes:
        robot: name of a robot.
        counts: of the encoders per wheel revolution; 0 for exact angles.
        noise: standard deviation of the acting torque, as a share of it.
        viscous: friction [left, right] in N m s/rad per N m of the excitation's amplitude.
        coulomb: friction [left, right] as shares of the excitation's amplitude.
        fast: whether the excitation may use the robot's own speed limits instead of those that
            its YAML sets for the excitation.
        delay: control periods between a torque's command and its action.
        on_axle: whether a payload moves the centre of mass onto the axle, d = 0.
        straight: whether both wheels get the same torque.
        wiring: which command, "l" or "r", each wheel gets, with "-" for a flipped sign.
        period: control period, s, > 0.
    """

    robot: str = "twil"
    counts: int = 4096
    noise: float = 0.01
    viscous: tuple[float, float] = (0.02, 0.03)
    coulomb: tuple[float, float] = (0.1, 0.125)
    fast: bool = False
    delay: int = 0
    on_axle: bool = False
    straight: bool = False
    wiring: tuple[str, str] = ("l", "r")
    period: float = 0.01

    def make_robot(self) -> Robot:
        """The robot with this setting's friction and speed limits."""
        robot = load_robot(self.robot)
        amplitude = robot.excitation.amplitude
        viscous, coulomb = (
            tuple(amplitude * share for share in shares) for shares in (self.viscous, self.coulomb)
        )
        robot = replace(robot, friction=replace(robot.friction, viscous=viscous, coulomb=coulomb))
        if self.fast:
            speeds = {
                name: getattr(robot.limits, name)
                for name in ("linear_velocity", "angular_velocity")
            }
            robot = replace(robot, excitation=replace(robot.excitation, **speeds))
        return robot


@dataclass(frozen=True)
class Run:
    """What a run left.

    Attributes:
        samples: joint samples, one per control period, the first one at rest.
        truth: closed form of K5..K8 of the robot, shape (4,).
        geometry: of the wheels.
        scale: of the motions and torques.
    """

    samples: list[JointSample]
    truth: NDArray[np.float64]
    geometry: WheelGeometry
    scale: MotionScale


class _Wired:
    """An engine whose wheels get the torques that its wiring gives them."""

    def __init__(self, engine, wiring: tuple[str, str]) -> None:
        self._engine = engine
        self._wiring = wiring

    def step(self, torque: tuple[float, float], duration: float) -> None:
        """As Simulator.step, with the torques mixed up."""
        given = {"l": torque[0], "r": torque[1], "-l": -torque[0], "-r": -torque[1]}
        self._engine.step((given[self._wiring[0]], given[self._wiring[1]]), duration)

    def __getattr__(self, name: str):
        return getattr(self._engine, name)


def record(setting: Setting, seed: int, seconds: float) -> Run:
    """Excite a robot at rest by guarded PRBS for a while, on the ideal engine.

    Args:
        setting: of the robot and its surroundings.
        seed: of the excitation and of the noise.
        seconds: robot time, s.
    """
    robot = setting.make_robot()
    source, actuator, encoders = driver(setting, robot, seed)
    with closing(make_simulator("ideal", robot)) as engine:
        if setting.on_axle:
            body = robot.body
            engine.set_payload(0.5 * body.mass, -2.0 * body.center_of_mass.x, 0.1, 0.0)
        virtual = VirtualRobot(_Wired(engine, setting.wiring), actuator, encoders, setting.period)
        samples = [virtual.sample]
        for _ in range(round(seconds / setting.period)):
            torque = next_torque(source, samples, setting)
            samples.append(virtual.advance(torque))
        return make_run(robot, engine.parameters(), samples)


def driver(setting: Setting, robot: Robot, seed: int) -> tuple[GuardedPrbs, Actuator, Encoders]:
    """Excitation, actuator and encoders of a run."""
    own, wheels = robot.excitation, robot.wheels
    speeds = (own.linear_velocity, own.angular_velocity)
    limit = wheel_speed_limit(*speeds, wheels.radius, wheels.half_track)
    return (
        GuardedPrbs(own.amplitude, own.hold, own.register, limit, seed),
        Actuator(robot.limits.torque, setting.delay, setting.noise, seed),
        Encoders(setting.counts, setting.period, seed),
    )


def next_torque(
    source: GuardedPrbs, samples: list[JointSample], setting: Setting
) -> tuple[float, float]:
    """Torque of the next period, N m, from the measured speeds of the last one."""
    before, after = samples[-2:][0].position, samples[-1].position
    speeds = tuple((b - a) / setting.period for a, b in zip(before, after, strict=True))
    left, right = source.torque(speeds)
    return left, left if setting.straight else right


def make_run(robot: Robot, k: DynamicParameters, samples: list[JointSample]) -> Run:
    """The samples with what is known of their robot."""
    own = robot.excitation
    return Run(
        samples,
        np.array(k),
        robot.geometry,
        MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude),
    )
