# SPDX-License-Identifier: Apache-2.0
"""A robot on the ground or lifted, as its driver shows it, sound or with one beginner's fault."""

import math
from collections import deque
from dataclasses import dataclass

from diffbot_check.motion_record import TICK, MovingSample, SurpriseError
from diffbot_check.moving_measures import whole_test
from diffbot_description.command_kind import CommandKind
from diffbot_description.dynamics import closed_form

STEP = 0.002  # s


@dataclass
class Wiring:
    """How commands reach motors and wheels reach encoders; `None` of `timeout`: it never stops."""

    motors: tuple = (0, 1)  # motor that takes command 0, 1
    motor_signs: tuple = (1, 1)
    encoders: tuple = (0, 1)  # wheel that reading 0, 1 is of
    encoder_signs: tuple = (1, 1)
    dead: tuple = ()
    stuck: tuple = ()
    timeout: float | None = 0.5
    delay: float = 0.02
    unit: float = 1.0  # torque of 1 N m of command
    reported: float | None = 1.0  # reported effort of 1 N m; None: none
    gyro: bool = False


class MovingPlant:
    """Two wheels with static and Coulomb friction, coupled by the body, N m; or a velocity loop."""

    def __init__(self, robot, kind, wiring=None, friction=0.1, static=1.3, lifted=False, lag=0.15):
        self.robot, self.kind, self.wiring = robot, kind, wiring or Wiring()
        k, model = closed_form(robot.model), robot.model
        r, b = model.wheel_radius, model.half_track
        own, cross = (k.k7 - b * k.k8) / r, (k.k7 + b * k.k8) / r
        if lifted:
            own, cross = 1.0 / model.wheel_inertia_spin, 0.0
        self.own, self.cross, self.friction, self.static = own, cross, friction, static
        self.lag, self.time, self.heard = lag, 0.0, -math.inf
        self.angles, self.speeds, self.yaw = [0.0, 0.0], [0.0, 0.0], 0.0
        self.queue, self.command, self.acting = deque(), (0.0, 0.0), (0.0, 0.0)
        self.farthest, self.turned = 0.0, 0.0

    def take(self, command):
        self.heard = self.time
        self.queue.append((self.time + self.wiring.delay, command))

    def advance(self, until):
        while self.time < until - 1e-9:
            self.time += STEP
            while self.queue and self.queue[0][0] <= self.time:
                self.command = self.queue.popleft()[1]
            limit = self.wiring.timeout
            silent = limit is not None and self.time - self.heard > limit
            self.acting = (0.0, 0.0) if silent else self.command
            torque = self.kind is CommandKind.EFFORT
            (self._torques if torque else self._velocities)()
            radius, track = self.robot.wheels.radius, self.robot.wheels.separation
            for side in (0, 1):
                self.angles[side] += self.speeds[side] * STEP
            self.yaw += (self.speeds[1] - self.speeds[0]) * radius / track * STEP
            self.farthest = max(self.farthest, *map(abs, self.angles))
            self.turned = max(self.turned, abs(self.yaw))

    def _motors(self, pair):
        """What each wheel's motor gets of commands [0, 1]."""
        out, wiring = [0.0, 0.0], self.wiring
        for place, motor in enumerate(wiring.motors):
            out[motor] = wiring.motor_signs[place] * pair[place]
        return [0.0 if side in wiring.dead else value for side, value in enumerate(out)]

    def _torques(self):
        torques = [self.wiring.unit * value for value in self._motors(self.acting)]
        friction, limit = [0.0, 0.0], [0.0, 0.0]
        for side in (0, 1):
            limit[side] = self.friction * (self.static if abs(self.speeds[side]) < 1e-3 else 1.0)
        for _ in range(8):  # Gauss-Seidel on the friction that would stop each wheel
            before = list(friction)
            for side in (0, 1):
                net = [torques[i] - friction[i] for i in (0, 1)]
                after = self.speeds[side] + STEP * (
                    self.own * net[side] + self.cross * net[1 - side]
                )
                wanted = friction[side] + after / (STEP * self.own)
                friction[side] = max(-limit[side], min(limit[side], wanted))
            if friction == before:
                break
        net = [torques[i] - friction[i] for i in (0, 1)]
        for side in (0, 1):
            self.speeds[side] += STEP * (self.own * net[side] + self.cross * net[1 - side])

    def _velocities(self):
        geometry = self.robot.geometry
        v, omega = self.acting
        v = math.copysign(max(abs(v) - 0.01, 0.0), v)
        omega = math.copysign(max(abs(omega) - 0.03, 0.0), omega)
        targets = self._motors(geometry.wheel_velocity(v, omega))
        for side in (0, 1):
            self.speeds[side] += (targets[side] - self.speeds[side]) * STEP / self.lag

    def reading(self):
        wiring = self.wiring
        angles = tuple(
            0.3 if place in wiring.stuck else sign * self.angles[wheel]
            for place, (wheel, sign) in enumerate(
                zip(wiring.encoders, wiring.encoder_signs, strict=True)
            )
        )
        efforts = (math.nan, math.nan)
        if self.kind is CommandKind.EFFORT and wiring.reported is not None:
            efforts = tuple(wiring.reported * value for value in self.acting)
        return MovingSample(self.time, angles, efforts, self.yaw if wiring.gyro else math.nan)


def run(test, plant, period=0.02, longest=120.0):
    """Run a test on a plant with states of a period; return its result."""
    due = 0.0
    steps = whole_test(test)
    test.record.add([plant.reading()])
    try:
        for command in steps:
            if command is not None:
                plant.take(command)
            end = plant.time + TICK
            while due <= end:
                plant.advance(due)
                test.record.add([plant.reading()])
                due += period
            plant.advance(end)
            test.now = plant.time
            test.surprise()
            assert plant.time < longest
    except SurpriseError as error:
        test.result.ended = str(error)
    return test.result
