# SPDX-License-Identifier: Apache-2.0
"""What a moving check measures once both channels obey: acceleration, delay, the driver's stop."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diffbot_check.motion_record import LATE, REST, TICK, ZERO, Steps
from diffbot_check.moving_test import MovingTest
from diffbot_description.command_kind import CommandKind

# Pulses for the acceleration, as multiples of the least torque, while the last one turned a wheel
# by less than so much, rad.
HARDER, GENTLE = (0.65, 0.8, 1.0, 1.3, 1.7, 2.2), 0.25
# Velocities: turn at which a step ends, rad, and longest time, s.
STEP_TURN, STEP_TIME = 0.2, 0.8
# The driver's own stop: how long commands last before they cease, longest silence, s, and most that
# a wheel turns in it, rad; what counts as stopped, of the speed or effort before.
BEFORE, SILENCE, SILENT_TURN, STOPPED = 0.5, 2.5, 0.6, 0.5
# A torque that turns no wheel, as a part of the least one that does.
BELOW = 0.2


def whole_test(test: MovingTest) -> Steps:
    """Yield all commands of a test; SurpriseError: it must end now, zero must be commanded."""
    yield from test.steps()
    if test.is_obeyed:
        yield from MovingMeasures(test).steps()
    yield ZERO


class MovingMeasures:
    """Measures on the channels of a test, into its result."""

    def __init__(self, test: MovingTest) -> None:
        self._test = test

    def steps(self) -> Steps:
        velocity = self._test.kind is CommandKind.VELOCITY
        yield from self._step() if velocity else self._harder()
        yield from self._silence()

    def _harder(self) -> Steps:
        """Give larger pulses: speeds over torques are the acceleration, friction apart."""
        test = self._test
        test.doing = "acceleration of a wheel"
        least, rows, sign = test.result.least(0) or 0.0, [], 1
        responses = [test.result.of(0, direction) for direction in (1, -1)]
        width = min(each.width for each in responses if each is not None)
        for multiple in HARDER:
            amount = test.up_to(0, multiple * least)
            start, began, fastest = test.record.mark, test.now, 0.0
            while test.now - began < width + LATE:
                fastest = max(fastest, abs(test.record.speeds()[0]))
                turned = abs(test.record.turns(start)[0])
                if turned > GENTLE:
                    break
                yield test.command(0, sign * amount if test.now - began < width - 1e-6 else 0.0)
            turn = test.record.turns(start)[0]
            yield from test.rest(test.command(0, sign * amount), 0, turn)
            self._note_delay(start, 0, began)
            if fastest > REST:
                rows.append((amount, fastest))
            if abs(test.record.turns(start)[0]) > GENTLE or turned > GENTLE:
                break
            sign = -sign
        amounts, speeds = np.array(rows).reshape(-1, 2).T
        if len(rows) > 2 and np.ptp(amounts) > 0.0:
            test.result.gain = float(np.polyfit(amounts, speeds, 1)[0]) / width

    def _note_delay(self, start: int, side: int, began: float) -> None:
        """Note when a wheel was first seen to turn after a command, if that is earlier."""
        test = self._test
        first = test.record.samples[start].angles[side]
        for each in test.record.samples[start:]:
            if abs(each.angles[side] - first) > max(0.005, 1.5 * test.count):
                late = max(each.time - began, 0.0)
                test.result.delay = min(late, math.inf if (d := test.result.delay) is None else d)
                return

    def _step(self) -> Steps:
        """Command a velocity at once, for its delay."""
        test = self._test
        test.doing = "answer to a step"
        amount = test.up_to(0, 1.3 * (test.result.least(0) or 0.0) + 0.03 * test.limits[0])
        start, began = test.record.mark, test.now
        while abs(test.record.turns(start)[0]) < STEP_TURN and test.now - began < STEP_TIME:
            yield test.command(0, amount)
        self._note_delay(start, 0, began)
        yield from test.rest(test.command(0, amount), 0, test.record.turns(start)[0])

    def _silence(self) -> Steps:
        """Send a command and then nothing: does the driver stop by itself, and when?

        A torque is too small to turn a wheel, so that it may last; the reported effort shows its
        end. A velocity turns the wheels back to where they began.
        """
        test = self._test
        test.doing = "silence: does the driver stop by itself?"
        least, start = test.result.least(0) or 0.0, test.record.mark
        torque = test.kind is CommandKind.EFFORT
        amount = test.up_to(0, BELOW * least if torque else max(1.2 * least, 0.02))
        sign = -math.copysign(1.0, sum(test.record.turns(test.first)))
        command = test.command(0, sign * amount)

        def size() -> float:
            if torque:
                return abs(test.record.samples[-1].efforts[0])
            return abs(sum(test.record.speeds()))

        began, usual = test.now, 0.0
        while test.now - began < BEFORE:
            yield command
            usual = max(usual, size())
        if usual > (STOPPED * amount if torque else REST):
            yield from self._silent(start, usual, size)
        yield from test.rest(command, 0, test.record.turns(start)[0] or 1.0)

    def _silent(self, start: int, usual: float, size: Callable[[], float]) -> Steps:
        test = self._test
        began, result = test.now, test.result
        while (elapsed := test.now - began) < SILENCE:
            usual = max(usual, size())
            result.watched = elapsed
            if elapsed > TICK and size() < STOPPED * usual:
                result.timeout = elapsed
                return
            if max(map(abs, test.record.turns(start))) > SILENT_TURN:
                return
            yield None
