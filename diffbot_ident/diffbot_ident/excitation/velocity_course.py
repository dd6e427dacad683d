# SPDX-License-Identifier: Apache-2.0
"""The course of an excitation by velocity commands, from the first state of the robot to the end.

It watches the odometry and the arena, and measures at the end, if asked, when the driver stops by
itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from arc_odometry import REST, Pose, Velocity
from arc_odometry.odometry_checks import OdometrySample, OdometryStamps, PoseContinuity
from diffbot_description import Robot
from diffbot_description.arena import Arena, reach
from diffbot_ident.excitation.driver_stop import DriverStop, DriverStopTest
from diffbot_ident.excitation.velocity_excitation import (
    MOVING,
    STANDING,
    VelocityExcitation,
    is_faster,
)
from diffbot_ident.excitation.velocity_watch import VelocityWatch
from diffbot_ident.identification_run import Phase
from diffbot_ident.precision import MIN_TIME
from diffbot_node.parameter_fields import SpeedLimitParameters, parameter

# Room where none is given, m.
DEFAULT_ARENA = Arena(3.0, 3.0)
# Longest rest at the end, s.
LONGEST_REST = 10.0
_NOT_TRIED = "it was not tried (driver_stop, or a simulator in the same process, which waits)"


@dataclass(frozen=True)
class VelocityCourseSettings(SpeedLimitParameters):
    """Settings of the course."""

    duration: float = parameter(60.0, "duration of the excitation, s of robot time", above=0.0)
    arena: str = parameter(
        "",
        "room to keep the whole robot in, length x width in m, such as 3x3; it starts in the "
        "middle, heading along the length; empty: 3x3",
    )
    border: float = parameter(
        0.0, "distance that the whole robot keeps to the sides of the arena besides, m", minimum=0.0
    )
    seed: int = parameter(0, "seed of all random choices of the excitation", minimum=0)


class VelocityCourse:
    """Answers each state of the robot until the excitation has ended; ValueError for a setting.

    Args:
        latency: Age of the newest state after which zero is commanded, s; the room allows for it.
        measures_stop: Whether to measure when the driver stops without commands.
        use_poses: Lets velocities be those of the poses; returns whether they were not before.
        inform, warn: Are told what happens, in a sentence.

    Attributes:
        limits, arena: Largest commands, and the room in use.
        phase, problem: Where it is, and why it was stopped; empty if it was not.
        elapsed, newest: Robot time of the excitation, and stamp of the newest state, s.
        pose, velocity: Of the newest state, the pose since the beginning.
        precise: Set it when the data tell all that was asked for.
    """

    def __init__(
        self,
        robot: Robot,
        settings: VelocityCourseSettings,
        latency: float,
        *,
        measures_stop: bool = False,
        use_poses: Callable[[], bool] = lambda: False,
        inform: Callable[[str], object] = lambda _: None,
        warn: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._robot, self._settings, self._latency = robot, settings, latency
        self._measures_stop, self._use_poses = measures_stop, use_poses
        self._inform, self._warn = inform, warn
        self.limits = robot.speed_limits(settings.linear_velocity, settings.angular_velocity)
        given = Arena.parse(settings.arena, settings.border)
        self.arena = given or replace(DEFAULT_ARENA, border=settings.border)
        self.newest = math.nan
        self.phase, self.problem = Phase.WAITING, ""
        self.pose, self.velocity = Pose(0.0, 0.0, 0.0), REST
        self._start: Pose | None = None  # pose at the beginning, in the odometry's frame
        self._restart()
        self._continuity = PoseContinuity(self._watch.fastest)
        self._stamps = OdometryStamps(latency)

    def _restart(self) -> None:
        self._excitation = VelocityExcitation(
            self.arena.room(reach(self._robot)),
            self.limits,
            self._robot.rim_limit,
            latency=self._latency,
            seed=self._settings.seed,
        )
        self._watch = VelocityWatch(self.limits)
        self.elapsed, self.precise = 0.0, False
        self._over: float | None = None  # robot time at which the excitation ended, s
        self._stop_test: DriverStopTest | None = None

    @property
    def ended(self) -> bool:
        return self.phase in (Phase.DONE, Phase.STOPPED)

    @property
    def guarded(self) -> int:
        return self._excitation.shortened

    @property
    def driver(self) -> DriverStop:
        """When the robot's driver stops by itself, as far as it was measured."""
        untried = DriverStop(reason=_NOT_TRIED if self.phase is Phase.DONE else "")
        return (self._stop_test and self._stop_test.result) or untried

    def update(self, sample: OdometrySample, commanded: Velocity) -> Velocity | None:
        """Return the next command, m/s and rad/s; None: send none, to see what the driver does.

        `commanded` is the command in force. Raises ValueError for a state that cannot be used.
        """
        if anomaly := self._stamps.check(sample.stamp):
            raise ValueError(anomaly.text)
        self._continuity.check(sample.stamp, sample.pose)
        if self._start is None:
            self._begin(sample)
        step = 0.0 if self.phase is Phase.WAITING else max(sample.stamp - self.newest, 0.0)
        if self.phase is Phase.WAITING:
            self.phase = Phase.EXCITING
        self.elapsed += step
        self.newest, self.velocity = sample.stamp, sample.velocity
        self.pose = sample.pose.relative_to(self._start or sample.pose)
        problem = self._watch.update(commanded, self.pose, self.velocity, step) or self._outside()
        if problem:
            if not (self._watch.twist_differs and self._begin_again(problem)):
                self.end(Phase.STOPPED, problem)
            return REST
        if self._stop_test is not None:
            return self._silence(self._stop_test)
        if self._is_over():
            return self._rest()
        return self._excitation.command(self.elapsed, self.pose, sample.velocity)

    def _begin(self, sample: OdometrySample) -> None:
        if is_faster(sample.velocity, self.limits, MOVING):
            raise ValueError("the robot moves already: it must stand at the beginning")
        self._start = sample.pose
        self._inform(
            f"exciting the robot for {self._settings.duration:g} s within {self.arena.length:g} m "
            f"x {self.arena.width:g} m, at most {self.limits.v:g} m/s and {self.limits.omega:g} "
            "rad/s"
        )

    def _begin_again(self, why: str) -> bool:
        """Begin the run again, with velocities from poses; what was recorded is not used."""
        if not self._use_poses():
            return False
        self._restart()
        self.phase = Phase.EXCITING
        self._warn(f"{why}; its poses are used instead, and the run begins again")
        return True

    def _is_over(self) -> bool:
        if self._over is None and self.elapsed >= self._settings.duration:
            self._over = self.elapsed
        if self._over is None and self.precise and self.elapsed >= MIN_TIME:
            self._over = self.elapsed
            self._inform(
                f"identified after {self.elapsed:.1f} s, as the precision asked for (until) is "
                "reached"
            )
        return self._over is not None

    def _rest(self) -> Velocity:
        """Return zero; once the robot stands, test the driver or end the run."""
        stands = not is_faster(self.velocity, self.limits, STANDING)
        rested = self.elapsed - (self._over or 0.0)
        if rested > LONGEST_REST or (stands and rested > self._excitation.stop_time.seconds):
            if not stands or not self._measures_stop:
                self.end(Phase.DONE)
            else:
                self.phase = Phase.VERIFYING
                self._stop_test = DriverStopTest(self.limits.omega, self._excitation.stop_time)
        return REST

    def _silence(self, test: DriverStopTest) -> Velocity | None:
        """Return the command of the test of the driver, or withhold it; end the run at its end."""
        command = test.command(self.newest, self.velocity)
        if test.result is not None:
            (self._warn if test.result.runs_on else self._inform)(str(test.result))
            self.end(Phase.DONE)
        return command

    def _outside(self) -> str:
        """Return that the robot has left its arena; empty if it has not."""
        length, width = self.arena.allowed
        for name, at, size in (("length", self.pose.x, length), ("width", self.pose.y, width)):
            if abs(at) > 0.5 * size:
                return (
                    f"the robot is {abs(at):.2f} m from its start and has left the arena's {name}: "
                    "it drives on longer after a stop than it showed before; give it a larger "
                    "arena, or a lower linear_velocity"
                )
        return ""

    def end(self, phase: Phase, problem: str = "") -> None:
        self.phase, self.problem = phase, problem

    def interrupt(self) -> None:
        """Restart the excitation after zero was commanded; the driver's stop is not measured."""
        self._excitation.interrupt()
        if self._stop_test is not None:
            self._stop_test.interrupt("the test was interrupted")

    def refuse(self, sample: OdometrySample) -> None:
        self.newest, self.velocity = sample.stamp, sample.velocity
        self.interrupt()

    def stand_by(self, sample: OdometrySample) -> None:
        """Take a state of a robot that somebody has stopped, and may carry."""
        self._stamps.check(sample.stamp)
        with suppress(ValueError):
            self._continuity.check(sample.stamp, sample.pose)
        self.refuse(sample)
