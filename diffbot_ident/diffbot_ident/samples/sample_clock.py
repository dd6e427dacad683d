# SPDX-License-Identifier: Apache-2.0
"""When the readings were taken: their stamps are measurements, too.

Readings lie on a grid of period T; the angles tell which share s of the stamps' scatter is true.
The time from one reading to the next, c periods later, is

    c T + s (stamp - last stamp - c T)

See docs/theory/integral_estimator.md#times-of-the-readings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import differences
from diffbot_ident.samples.wheel_speeds import turns

# Readings from which the period, and a segment's grid, is found.
FIRST, FIRST_OF_SEGMENT = 24, 8
# Readings after which both are computed anew.
UPDATE = 64
# Memory, in readings, of the period, and of the scatter and its true share.
MEMORY, LONG_MEMORY = 256.0, 8192.0
# The first period is searched within this share of the median step, in so many trials.
SEARCH, TRIALS = 0.2, 321
# Shares by which a place follows its stamp: that which numbers readings, and that of their times,
# never farther from the stamp than FARTHEST deviations.
FOLLOWED, SLOWLY, FARTHEST = 0.07, 0.004, 3.0
# Deviations, and share, by which the period of another clock differs.
OTHER_PACE, LEAST_OTHER = 6.0, 1e-3
# Squares of the weights (-1/2, 3/2, -3/2, 1/2) of readings in a second difference of steps, and
# factor on the variance of s, as successive ones share readings.
WEIGHTS, SHARED = 5.0, 2.3
# Bias of products of velocities per variance of a reading's time over the period's square: -1 by
# the shared reading, 5/12 by the slopes.
PRODUCTS = 7.0 / 12.0
# Share of readings of a steady grid at FARTHEST; relative deviation of K5..K8 per share beyond
# that, times lateness over period.
LIMITED, WANDER = 0.05, 0.5
# Scatter of stamps, and jitter of readings, over the period, from which on they are named.
NOTABLE_SCATTER, NOTABLE_JITTER = 0.01, 0.03
# Lateness over the period up to which readings can be numbered, and although a share DOUBLE has the
# place of the one before; fewest steps to know it.
MOST_LATE, CLEARLY_NUMBERED, DOUBLE, ENOUGH = 0.2, 0.1, 0.02, 50
# Deviations by which s is told from 1 or 0; deviation beyond which it is not known.
SIGNIFICANT, UNSURE = 3.0, 0.25
# Error of the finest encoders, rad.
FINEST_ANGLE = 1e-4
# Share of the period by which a step may differ in the search for a rounding.
NEAR = 0.4
# Resolution of rounded stamps, s, and the finest rounding that is looked for.
RESOLUTION, FINEST_ROUNDING = 1e-6, 5e-5


class StampScatter:
    """How stamps scatter about the grid of the readings, and which share of that is true.

    Attributes:
        fraction: Share s of the scatter that is true.
        deviation: Its standard deviation; 1 before anything is known.
    """

    def __init__(self) -> None:
        self.fraction, self.deviation = 0.0, 1.0
        # Sums of [x x, x y, y y, 1], of second differences of steps times speed, and of angles; sum
        # of squares of those of steps, and their number.
        self._motion, self._steps = np.zeros(4), np.zeros(2)
        # Readings on the place of the one before, those at FARTHEST, and all.
        self._counts = np.zeros(3)
        # Greatest common divisor of steps less the first one, RESOLUTION.
        self._quantum, self._first_step = 0, math.nan

    @property
    def size(self) -> float:
        """Standard deviation of the stamps about the grid, from reading to reading, s."""
        squares, count = self._steps
        return math.sqrt(squares / (WEIGHTS * count)) if count > 0.0 else 0.0

    @property
    def late(self) -> float:
        """Standard deviation of the stamps' lateness, s."""
        return self.size * math.sqrt(1.0 - self.fraction)

    @property
    def rounding(self) -> float:
        """What the stamps are rounded to, s; 0 where they are not, or too finely to matter."""
        rounding = self._quantum * RESOLUTION
        return rounding if rounding > FINEST_ROUNDING else 0.0

    @property
    def left(self) -> float:
        """Standard deviation of the times found, s."""
        reported = self.fraction * (1.0 - self.fraction) + self.deviation**2
        rounded = self.rounding / math.sqrt(12.0) if self.size > RESOLUTION else 0.0
        return max(self.size * math.sqrt(reported), rounded)

    @property
    def wander(self) -> float:
        """Relative deviation of K5..K8 times the period, s, by a grid that wanders."""
        _, limited, every = self._counts
        beyond = limited / every - LIMITED if every > 0.0 else 0.0
        return WANDER * max(beyond, 0.0) * self.late

    def learn(self, readings: Array, period: float, limited: int) -> None:
        """Learn from readings [stamp, angles left, right, number in the grid], shape (n, 4).

        `limited` of their places are at FARTHEST.
        """
        passed, number = differences(readings[:, 0]), differences(readings[:, 3])
        if len(passed) < 3:
            return
        # A lost reading with a wrong number says nothing about the rounding.
        single = passed[(number == 1.0) & (np.abs(passed - period) < NEAR * period)]
        if len(single):
            if math.isnan(self._first_step):
                self._first_step = float(single[0])
            units = np.round((single - self._first_step) / RESOLUTION).astype(int)
            self._quantum = math.gcd(self._quantum, int(np.gcd.reduce(units)))
        turned = turns(readings[:, 1:3])
        speed = (turned[:-2] + turned[1:-1] + turned[2:]) / (3.0 * period)
        whole = (number[:-2] == 1.0) & (number[1:-1] == 1.0) & (number[2:] == 1.0)
        bent = _bent(passed - period * number)[whole]
        x, y = speed[whole] * bent[:, None], _bent(turned)[whole]
        kept = math.exp(-len(passed) / LONG_MEMORY)
        counts = [np.count_nonzero(number < 1.0), limited, len(number)]
        self._counts = kept * self._counts + np.array(counts, dtype=float)
        self._steps = kept * self._steps + np.array([bent @ bent, len(bent)])
        products = [(x * x).sum(), (x * y).sum(), (y * y).sum(), x.size]
        self._motion = kept * self._motion + np.array(products)
        xx, xy, yy, count = self._motion.tolist()
        if not (xx > 0.0 and count > 0.0):
            return
        noise = SHARED * max((yy - xy * xy / xx) / count, FINEST_ANGLE**2)
        self.fraction = min(max(xy / (xx + noise), 0.0), 1.0)
        self.deviation = math.sqrt(noise / (xx + noise))

    def problem(self, period: float) -> str | None:
        """Return why stamps do not tell when readings of a period, s, were taken; or None."""
        double, _, every = self._counts
        most = CLEARLY_NUMBERED if double > DOUBLE * every else MOST_LATE
        if self._steps[1] < ENOUGH or self.late <= most * period:
            return None
        return (
            f"stamps are late by an amount that scatters by {1e3 * self.late:.2g} ms (rms), for "
            f"readings about every {1e3 * period:.2g} ms: must be well below "
            f"{100.0 * MOST_LATE:g} % of the period to tell when readings were taken; stamp each "
            "reading when it is taken"
        )

    def warnings(self, period: float) -> list[str]:
        if not self.size > NOTABLE_SCATTER * period:
            return []
        every = f"{1e3 * period:.3g} ms"
        if self.deviation > UNSURE:
            size = f"{1e3 * self.size:.2g} ms"
            return [
                f"stamps scatter by {size} (rms) about a grid of {every}, and the motion does not "
                "tell whether the readings do, or the stamps are late: the intervals include that; "
                "stamp each reading when it is taken, or let the robot drive faster"
            ]
        if self.rounding > 0.0:
            return [
                f"stamps are rounded to {1e3 * self.rounding:.3g} ms, for readings "
                f"every {every}: the estimate takes that into account; record finer stamps"
            ]
        results = []
        if (
            self.late > NOTABLE_SCATTER * period
            and self.fraction + SIGNIFICANT * self.deviation < 1.0
        ):
            late = f"{1e3 * self.late:.2g} ms"
            results.append(
                f"stamps are late by an amount that scatters by {late} (rms), for readings every "
                f"{every}: the estimate uses the clock of the readings; stamp each reading when "
                "it is taken"
            )
        true = self.size * math.sqrt(self.fraction)
        if true > NOTABLE_JITTER * period and self.fraction > SIGNIFICANT * self.deviation:
            results.append(
                f"the control period of {every} jitters by {1e3 * true:.2g} ms (rms): the "
                "estimate takes that into account; give the control loop priority"
            )
        return results


class SampleClock:
    """Finds the times of readings from their stamps and the wheels' angles.

        >>> clock, stamps = SampleClock(), 0.01 * np.arange(200.0)
        >>> times = clock.timed(np.column_stack((stamps, stamps, stamps)))[:, 0]
        >>> round(clock.period, 6), round(float(times[-1]), 6)
        (0.01, 1.99)

    Attributes:
        began: Stamp of the first reading, s; NaN before there is one.
        period: Period of the readings, s; NaN before it is known.
        scatter: How the stamps scatter about the grid of the readings.
    """

    def __init__(self) -> None:
        self.began = self.period = math.nan
        self.scatter = StampScatter()
        self._line = _StampLine()
        self._begin_segment()

    def _begin_segment(self) -> None:
        self._waiting: Array | None = None  # readings of a segment that is too short
        self._new = np.empty((0, 4))  # [stamp, angles, number] since the last update
        self._before = np.empty((0, 4))  # the last three before those
        # Newest stamp and time, places in the grid (FOLLOWED, SLOWLY), s, and its number.
        self._stamp = self._time = self._place = self._slow = math.nan
        self._number = self._given = 0
        self._limited = 0  # places at FARTHEST since the last update

    def interrupt(self) -> None:
        if len(self._new) > 1:
            self._update()
        self._line.interrupt()
        self._begin_segment()

    @property
    def bias(self) -> float:
        """Relative bias of the products of velocities, and of K5 and K6, by errors of the times."""
        return PRODUCTS * (self.scatter.left / self.period) ** 2 if self.period > 0.0 else 0.0

    @property
    def wander(self) -> float:
        """Relative deviation of K5..K8 where the period wanders and the stamps are late as well."""
        return self.scatter.wander / self.period if self.period > 0.0 else 0.0

    def problem(self) -> str | None:
        return self.scatter.problem(self.period)

    def warnings(self) -> list[str]:
        return self.scatter.warnings(self.period)

    def timed(self, samples: Array) -> Array:
        """Return the next samples with their times since `began`; a segment's first ones wait.

        `samples` (n, 3 + more): increasing stamp, s, wheel angles [left, right], rad, and more.
        """
        if not len(samples):
            return samples
        if math.isnan(self.began):
            self.began = float(samples[0, 0])
        known_robot = samples.copy()
        known_robot[:, 0] -= self.began
        times = []
        if math.isnan(self._stamp):
            if self._waiting is not None:
                known_robot = np.concatenate((self._waiting, known_robot))
            first = FIRST if math.isnan(self.period) else FIRST_OF_SEGMENT
            if len(known_robot) < first:
                self._waiting = known_robot
                return known_robot[:0]
            self._waiting = None
            warm_up = known_robot[:first, :3]
            self._begin(warm_up)
            times.append(self._times_of(warm_up))
            if first == FIRST:
                self._update()
                self._begin(warm_up)
                times = [self._times_of(warm_up)]
                self._new = self._new[:0]
        at = sum(map(len, times))
        while at < len(known_robot):
            part = known_robot[at : at + UPDATE - len(self._new), :3]
            times.append(self._times_of(part))
            at += len(part)
            if len(self._new) >= UPDATE:
                self._update()
        known_robot[:, 0] = np.concatenate(times)
        return known_robot

    def _begin(self, readings: Array) -> None:
        passed = readings[:, 0] - readings[0, 0]
        if math.isnan(self.period):
            steps = differences(passed)
            around = np.linspace(1.0 - SEARCH, 1.0 + SEARCH, TRIALS) * _median(steps)
            turned = np.exp(2j * np.pi * passed / around[:, None]).sum(axis=1)
            self.period = float(around[np.argmax(np.abs(turned))])
        phase = np.angle(np.exp(2j * np.pi * passed / self.period).sum()) / (2.0 * np.pi)
        self._stamp = self._time = float(readings[0, 0])
        self._place = self._slow = self._stamp + self.period * (float(phase) - 1.0)
        self._number = self._given = -1

    def _times_of(self, readings: Array) -> Array:
        stamps, first = readings[:, 0], self._given < 0
        before = self._slow
        numbers, places = self._placed(stamps.tolist())
        passed = differences(np.concatenate(([self._stamp], stamps)))
        grid = differences(np.array([before, *places]))
        if first:
            grid[0] = 0.0
        times: Array = self._time + np.cumsum(grid + self.scatter.fraction * (passed - grid))
        self._stamp, self._time = float(stamps[-1]), float(times[-1])
        self._new = np.concatenate((self._new, np.column_stack((readings, numbers))))
        return times

    def _placed(self, stamps: Sequence[float]) -> tuple[list[int], list[float]]:
        """Return the numbers of the next readings in the grid, and their places in it, s.

        Behind a very late one, two have one number, but not one place.
        """
        period, place, slow = self.period, self._place, self._slow
        number, given, most = self._number, self._given, FARTHEST * self.scatter.size
        numbers, places, limited = [], [], 0
        for stamp in stamps:
            ahead = round((stamp - place) / period)
            number += ahead
            place += ahead * period
            place += FOLLOWED * (stamp - place)
            step = max(number - given, 1)
            given += step
            slow += step * period
            slow += SLOWLY * (stamp - slow)
            if not -most < slow - stamp < most:
                slow = min(max(slow, stamp - most), stamp + most)
                limited += 1
            numbers.append(number)
            places.append(slow)
        self._place, self._slow, self._number, self._given = place, slow, number, given
        self._limited += limited
        return numbers, places

    def _update(self) -> None:
        new, self._new = self._new, np.empty((0, 4))
        every = np.concatenate((self._before, new))
        self._before = every[-3:]
        self.scatter.learn(every, self.period, self._limited)
        self._limited = 0
        self.period = self._line.add(new[:, 3], new[:, 0], self.scatter.size)


def _bent(steps: Array) -> Array:
    """Return each inner step less the mean of its neighbours."""
    bent: Array = steps[1:-1] - 0.5 * (steps[:-2] + steps[2:])
    return bent


class _StampLine:
    """Straight line through stamps over the readings' numbers, with a fading memory."""

    def __init__(self) -> None:
        # Centred sums of squares of numbers and of products with stamps: of earlier segments, and
        # of this one, with weight and means.
        self._past = self._sums = np.zeros(2)
        self.interrupt()

    def interrupt(self) -> None:
        """Start a new segment, whose line has the same slope."""
        self._past = self._past + self._sums
        self._sums, self._weight = np.zeros(2), 0.0
        self._means = np.zeros(2)

    def add(self, numbers: Array, stamps: Array, scatter: float) -> float:
        """Add readings with their numbers, (n,), stamps, s, and scatter, s; return the slope, s."""
        means = np.array([numbers.mean(), stamps.mean()])
        along, passed = numbers - means[0], stamps - means[1]
        own = np.array([along @ along, along @ passed])
        known = self._past + self._sums
        if known[0] > 0.0 and own[0] > 0.0:
            before, now = known[1] / known[0], own[1] / own[0]
            deviation = scatter / math.sqrt(own[0])
            if abs(now - before) > max(OTHER_PACE * deviation, LEAST_OTHER * before):
                self._past, self._sums, self._weight = np.zeros(2), np.zeros(2), 0.0
        count, kept = len(numbers), math.exp(-len(numbers) / MEMORY)
        self._past = kept * self._past
        weight = kept * self._weight
        apart = means - self._means
        between = weight * count / (weight + count) * apart[0] * apart
        self._sums = kept * self._sums + own + between
        self._means = self._means + apart * count / (weight + count)
        self._weight = weight + count
        squares, products = self._past + self._sums
        return float(products / squares)


def _median(values: Array) -> float:
    """Return the median; np.median imports what takes a twentieth of a second."""
    ordered = np.sort(values)
    return 0.5 * float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
