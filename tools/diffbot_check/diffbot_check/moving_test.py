# SPDX-License-Identifier: Apache-2.0
"""The motion of `diffbot check --moving`: the least command that turns a wheel, one at a time.

Knows no ROS: it is a generator of commands, one each TICK. Before it is resumed, `record` has the
newest samples and `now` the time. A torque robot's channels are its wheels, [left, right] in N m;
those of a robot that takes velocities are v in m/s and omega in rad/s.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from diffbot_check.motion_record import (
    LATE,
    REST,
    TICK,
    ZERO,
    Command,
    CommandResponse,
    MotionRecord,
    MovingResult,
    Pair,
    Steps,
    SurpriseError,
)
from diffbot_description import Robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.dynamics import closed_form

# Torques: pulses from a part of the limit, each larger by a factor than the last one, of at most
# these lengths, s. A pulse is ended by one backward of the same length, so that even without
# friction an unseen wheel stops: by amount * acceleration * length^2 from where it began.
FIRST, FACTOR, WIDTHS = 0.005, 1.3, (0.04, 0.12)
# Most that a pulse may turn the described robot unseen, without friction, rad: its body, so that
# one of half the inertia stays below 10 degrees, and a wheel. Where nothing turns up to the limit,
# the unit is smaller or the robot heavier, and all begins again with the longest pulses.
UNSEEN, UNSEEN_WHEEL = math.radians(5.0), 0.7
# Pause after an unseen pulse was repeated backward, s: wheels come to rest.
SETTLING = 0.1
# Velocities: parts of the limit that are tried one after the other on both channels; time of a ramp
# to the limit, and how long its end lasts, s.
LEVELS, RISE, HOLD = (0.1, 0.3, 1.0), 4.0, 0.4
# A channel that turns nothing is not driven harder than so many times what turned the other.
MORE = 2.5
# Most that is commanded of velocities, m/s and rad/s.
MOST_VELOCITY = (0.2, 0.8)
# Turn of a wheel that ends a ramp, rad: torques, velocities; in encoder counts.
SEEN, COUNTS = {CommandKind.EFFORT: 0.05, CommandKind.VELOCITY: 0.1}, 4.0
# Largest turn of a wheel from its first angle, rad: a quarter turn, with room for braking.
FARTHEST = 0.5 * math.pi - 0.35
# Turn of the body by a gyro that ends a pulse, too: an encoder may stick, rad.
TURNING = 0.03
# A wheel rests if it is slow for so long, s; longest time to wait for it, s.
RESTING, PATIENCE = 0.2, 3.0
# Speed that is a surprise after that time, rad/s; slower ones come from wheels without friction.
COASTING = 0.5
LOOK = 0.4  # s before the first command
# Oldest state that is answered, s.
STALE = 0.3


class MovingTest:
    """The test of a robot: what turns which wheel; `whole_test` adds what can be measured then.

    Attributes:
        record: The samples; the caller appends to it.
        now: Time, s; the caller sets it.
        result: What was found so far.
        limits: Largest command of each channel.
        doing: What happens now, for people.
    """

    def __init__(self, robot: Robot, kind: CommandKind) -> None:
        self.robot, self.kind = robot, kind
        limits = robot.limits
        self.limits: Pair = (
            (limits.torque, limits.torque)
            if kind is CommandKind.EFFORT
            else (
                min(MOST_VELOCITY[0], limits.linear_velocity),
                min(MOST_VELOCITY[1], limits.angular_velocity),
            )
        )
        counts = robot.encoder.counts
        self.count = math.tau / counts if counts else 0.0
        self._seen = max(SEEN[kind], COUNTS * self.count)
        self._unseen = _unseen(robot)
        self.record, self.now = MotionRecord(), 0.0
        self.result = MovingResult()
        self.doing = "looking"
        self.first = 0

    @property
    def names(self) -> tuple[str, str]:
        """Names of the channels."""
        return ("left", "right") if self.kind is CommandKind.EFFORT else ("v", "omega")

    def steps(self) -> Steps:
        """Yield the commands that show what each channel turns; SurpriseError as `whole_test`."""
        yield from self.lasting(ZERO, LOOK)
        self.first = self.record.mark
        if max(map(abs, self.record.speeds())) > REST:
            raise SurpriseError("the wheels turn although zero is commanded; let them stand still")
        yield from self._forward()
        for channel in (0, 1):
            if (least := self.result.least(channel)) is not None:
                yield from self._backward(channel, least)

    def surprise(self) -> None:
        """Raise SurpriseError if the newest samples are too old, or a wheel has turned too far."""
        newest = self.record.samples[-1]
        if (age := self.now - newest.time) > STALE:
            raise SurpriseError(f"no state of the wheels for {age:.2f} s")
        if len(self.record.samples) <= self.first:
            return
        turns = self.record.turns(self.first)
        self.result.farthest = max(self.result.farthest, *map(abs, turns))
        for side, turn in zip(("left", "right"), turns, strict=True):
            if abs(turn) > FARTHEST:
                raise SurpriseError(
                    f"the {side} wheel has turned by {abs(turn):.2f} rad: it does not stop where "
                    "it should"
                )

    # Parts of the test.

    def command(self, channel: int, amount: float) -> Pair:
        """Return the commands of an amount on one channel."""
        return (amount, 0.0) if channel == 0 else (0.0, amount)

    def up_to(self, channel: int, amount: float) -> float:
        """Return an amount within the channel's limit."""
        return min(self.limits[channel], amount)

    def lasting(self, command: Command, seconds: float) -> Steps:
        """Yield a command for so long, s."""
        began = self.now
        while self.now - began < seconds:
            yield command

    def _forward(self) -> Steps:
        """Try both channels forward, each amount on both before the next one."""
        if self.kind is CommandKind.VELOCITY:
            for level in LEVELS:
                for channel in (0, 1):
                    yield from self._unless_turned(
                        channel, level, lambda c, most: self._ramp(c, 1, most)
                    )
            return
        levels = [FIRST * FACTOR**i for i in range(math.ceil(math.log(1.0 / FIRST, FACTOR)))]
        levels.append(1.0)
        for unseen in (self._unseen, math.inf):
            self._unseen = unseen
            for level in levels:
                for channel in (0, 1):
                    yield from self._unless_turned(
                        channel, level, lambda c, amount: self._pulses(c, 1, amount)
                    )
            if any(self.result.least(channel) for channel in (0, 1)):
                return
            levels = [x for x in levels if _widths(unseen, x * self.limits[0])[-1] < WIDTHS[1]]

    def _unless_turned(
        self, channel: int, level: float, attempt: Callable[[int, float], Steps]
    ) -> Steps:
        """Try a part of the limit on a channel that has turned nothing yet."""
        own, other = self.result.of(channel), self.result.of(1 - channel)
        level = min(level, 1.0)
        if own is not None and own.least is not None:
            return
        if other is not None and other.least is not None:
            level = min(level, MORE * other.most / self.limits[1 - channel])
        amount = level * self.limits[channel]
        longest = _widths(self._unseen, amount)[-1] if self.kind is CommandKind.EFFORT else 0.0
        if own is None or amount > own.most * (1.0 + 1e-9) or longest > own.width + 1e-9:
            yield from attempt(channel, amount)

    def _backward(self, channel: int, least: float) -> Steps:
        if self.kind is CommandKind.VELOCITY:
            yield from self._ramp(channel, -1, self.up_to(channel, MORE * least))
            return
        for amount in (least / FACTOR, least, FACTOR * least, FACTOR**3 * least):
            yield from self._pulses(channel, -1, self.up_to(channel, amount))
            response = self.result.of(channel, -1)
            if response is not None and response.least is not None:
                return

    def _pulses(self, channel: int, sign: int, amount: float) -> Steps:
        """Give pulses of a torque, the longer one only if nothing turned; bring it to rest."""
        self.doing = f"{self.names[channel]} {'+' if sign > 0 else '-'}{amount:.3g} N m"
        other = self.result.of(1 - channel)
        alone = math.isinf(self._unseen) or (other is not None and other.least is not None)
        for width in _widths(self._unseen, amount):
            start = self.record.mark
            yield from self._pulse(channel, sign * amount, width)
            turns = self.record.turns(start)
            if moved := self._has_moved(start):
                break
            if alone:  # what has turned unseen is turned back
                yield from self._doublet(channel, -sign * amount, width)
                yield from self.lasting(ZERO, SETTLING)
        side = int(abs(turns[1]) > abs(turns[0]))
        if moved:
            yield from self.rest(self.command(channel, sign * amount), side, turns[side])
        samples = self.record.samples[start:]
        efforts = (
            _largest([each.efforts[0] for each in samples]) / (sign * amount),
            _largest([each.efforts[1] for each in samples]) / (sign * amount),
        )
        yaw = samples[-1].yaw - samples[0].yaw
        self.result.responses.append(
            CommandResponse(
                channel, sign, amount if moved else None, amount, turns, yaw, efforts, width
            )
        )

    def _pulse(self, channel: int, amount: float, width: float) -> Steps:
        """Give one pulse with its end, and wait until a wheel turns or it is too late."""
        start = self.record.mark
        for command in self._doublet(channel, amount, width):
            if self._has_turned(start):  # what only the gyro sees is stopped by the second half
                return
            yield command
        began = self.now
        while self.now - began < LATE and not self._has_moved(start):
            yield ZERO

    def _doublet(self, channel: int, amount: float, width: float) -> Steps:
        """Give a pulse, and one backward that lasts as long as it did."""
        began = self.now
        yield from self.lasting(self.command(channel, amount), width - 1e-6)
        yield from self.lasting(self.command(channel, -amount), self.now - began - 1e-6)

    def _has_moved(self, start: int) -> bool:
        yaw = self.record.samples[-1].yaw - self.record.samples[start].yaw
        return self._has_turned(start) or abs(yaw) > TURNING

    def _has_turned(self, start: int) -> bool:
        return max(map(abs, self.record.turns(start))) >= self._seen

    def _ramp(self, channel: int, sign: int, most: float) -> Steps:
        """Raise a command until a wheel turns, and bring it to rest."""
        self.doing = f"{self.names[channel]} {'+' if sign > 0 else '-'}, up to {most:.3g}"
        start, began, amount = self.record.mark, self.now, 0.0
        rate = self.limits[channel] / RISE
        full: float | None = None
        while not self._has_turned(start):
            amount = min(most, rate * (self.now - began))
            if amount >= most:
                full = full or self.now
                if self.now - full > HOLD:
                    break
            yield self.command(channel, sign * amount)
        turns = self.record.turns(start)
        moved = self._has_turned(start)
        side = int(abs(turns[1]) > abs(turns[0]))
        yield from self.rest(self.command(channel, sign * amount), side, turns[side])
        least = self._onset(start, side, began, rate, most) if moved else None
        yaw = self.record.samples[-1].yaw - self.record.samples[start].yaw
        self.result.responses.append(CommandResponse(channel, sign, least, most, turns, yaw))

    def _onset(self, start: int, side: int, began: float, rate: float, most: float) -> float:
        """Return the command of a ramp when a wheel began to turn for good."""
        first = self.record.samples[start]
        still = began
        for each in self.record.samples[start:]:
            turned = abs(each.angles[side] - first.angles[side])
            if turned >= self._seen:
                break
            if turned <= max(0.15 * self._seen, 1.5 * self.count):
                still = each.time
        return min(most, rate * max(still - began, TICK))

    def rest(self, last: Pair, side: int, turn: float) -> Steps:
        """Bring the wheels to rest: by zero, and if friction is not enough by pulses backward."""
        began = rested = zero = self.now
        fastest = REST
        while self.now - began < PATIENCE:
            speeds = self.record.speeds()
            if max(map(abs, speeds)) > REST:
                rested = self.now
            elif self.now - rested >= RESTING:
                return
            along = math.copysign(1.0, turn) * speeds[side]
            fastest = max(fastest, along)
            waits = self.now - zero < WIDTHS[1] + LATE
            if self.kind is CommandKind.VELOCITY or along <= 2.0 * REST or waits:
                yield ZERO
            else:
                width = min(1.0, along / fastest) * WIDTHS[0]
                yield from self.lasting((-0.8 * last[0], -0.8 * last[1]), width)
                zero = self.now
        if max(map(abs, self.record.speeds())) > COASTING:
            raise SurpriseError(f"the wheels still turn {PATIENCE:g} s after zero was commanded")

    @property
    def is_obeyed(self) -> bool:
        """Whether both channels turn mainly what they should, in the direction that they should."""
        responses = [self.result.of(channel) for channel in (0, 1)]
        return all(
            each is not None and each.least is not None and obeys(self.kind, each)
            for each in responses
        )


def _unseen(robot: Robot) -> float:
    """Return the torque times length^2 of the pulses that stay below UNSEEN, N m s^2."""
    k, model = closed_form(robot.model), robot.model
    wheel = (k.k7 - model.half_track * k.k8) / model.wheel_radius
    return min(UNSEEN / abs(k.k8), UNSEEN_WHEEL / wheel)


def _widths(unseen: float, amount: float) -> list[float]:
    """Return the lengths of the pulses of a torque, s, the last one the longest."""
    longest = min(WIDTHS[1], math.sqrt(unseen / amount))
    longest = TICK * max(1.0, math.floor(longest / TICK + 1e-6))
    return [WIDTHS[0], longest] if longest > WIDTHS[0] + 1e-6 else [longest]


def _largest(values: list[float]) -> float:
    """Return the value of largest magnitude; NaN if one is not known."""
    return math.nan if any(map(math.isnan, values)) else max(values, key=abs)


def obeys(kind: CommandKind, response: CommandResponse) -> bool:
    """Whether a command turned mainly what it should, in the direction that it should."""
    left, right = (response.sign * turn for turn in response.turns)
    if kind is CommandKind.EFFORT:
        own, other = (left, right) if response.channel == 0 else (right, left)
        return own > 0.0 and own > abs(other)
    own, other = (right + left, right - left)
    if response.channel == 1:
        own, other = other, own
    return own > 0.0 and own > 2.0 * abs(other)
