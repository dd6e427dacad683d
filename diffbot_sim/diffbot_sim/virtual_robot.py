# SPDX-License-Identifier: Apache-2.0
"""A simulated robot as its driver sees it: commands in, joint samples out, period by period."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry import JointSample
from arc_odometry.number_range import Array, within
from diffbot_description import Robot
from diffbot_description.ground_loads import GRAVITY
from diffbot_description.robot import Pair
from diffbot_sim.simulator import (
    Simulator,
    check_balance,
    check_duration,
    check_payload,
    check_torque,
)

LONGEST_DELAY = 1000
NOTHING = "none"
EXAMPLE = "give mass,x,z,yaw_inertia in kg, m, m, kg m^2, such as 2.5,0,0.05,0.06, or 50%, or none"
# Of stamps, which are multiples of the control period, s.
TOLERANCE = 1e-6
NANOSECONDS = 1_000_000_000


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral)


class Actuator:
    """Two wheel motors, [left, right], which limit, delay and disturb torques.

    A command, clipped to the limit, is the reported torque (joint_states.effort). The acting one
    was reported `delay_samples` earlier (0 at first); it is 0 within the driver's dead band, and
    times 1 + noise N(0, 1), independent per wheel and sample.

    Args:
        limit: Largest torque per wheel, N m, > 0.
        delay_samples: Delay in whole control samples, 0 to 1000.
        noise: Standard deviation relative to the torque, 0 to 1.
        seed: Seed of the noise, >= 0.
        dead_band: Dead bands [left, right], N m, >= 0.
    """

    def __init__(
        self,
        limit: float,
        delay_samples: int = 0,
        noise: float = 0.0,
        seed: int = 0,
        dead_band: Pair = (0.0, 0.0),
    ) -> None:
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"torque limit = {limit} N m: must be finite and > 0")
        if not _is_whole(delay_samples) or not 0 <= delay_samples <= LONGEST_DELAY:
            raise ValueError(
                f"torque delay_samples = {delay_samples}: "
                f"must be a whole number from 0 to {LONGEST_DELAY}"
            )
        if not 0.0 <= noise <= 1.0:
            raise ValueError(
                f"torque noise = {noise}: must be from 0 to 1; it is relative, 0.05 means 5 %"
            )
        if seed < 0:
            raise ValueError(f"torque noise seed = {seed}: must be >= 0")
        if not all(0.0 <= band < math.inf for band in dead_band):
            raise ValueError(f"torque dead_band = {dead_band} N m: must be finite and >= 0")
        self._limit = float(limit)
        self._dead_band = dead_band
        self._delay = int(delay_samples)
        self._noise = float(noise)
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Forget delayed torques and restart the noise."""
        self._generator = np.random.default_rng(self._seed)
        self._pending = deque([(0.0, 0.0)] * self._delay)

    def apply(self, command: Pair) -> tuple[Pair, Pair]:
        """Return (reported, acting) torques of the next interval for a command, [left, right], N m.

        Raises:
            ValueError: A command is not finite; the actuator's state is then unchanged.
        """
        left, right = (self._clipped(side, c) for side, c in zip("LR", command, strict=True))
        self._pending.append((left, right))
        delayed_left, delayed_right = self._pending.popleft()
        band_left, band_right = self._dead_band
        delayed = (
            delayed_left if abs(delayed_left) >= band_left else 0.0,
            delayed_right if abs(delayed_right) >= band_right else 0.0,
        )
        if self._noise == 0.0:
            return (left, right), delayed
        factors = 1.0 + self._noise * self._generator.standard_normal(2)
        return (left, right), (delayed[0] * float(factors[0]), delayed[1] * float(factors[1]))

    def _clipped(self, side: str, value: float) -> float:
        if not math.isfinite(value):
            name = "left" if side == "L" else "right"
            raise ValueError(f"{name} torque command = {value} N m: must be finite; send 0 to stop")
        return within(float(value), self._limit)


def periods_in(what: str, seconds: float, period: float) -> int:
    """Return the number of whole control periods (s) in a time, s, rounded.

    Raises:
        ValueError: The time, named `what`, is not finite, or contains no period.
    """
    count = round(seconds / period) if math.isfinite(seconds) else 0
    if count < 1:
        raise ValueError(
            f"{what} = {seconds} s: must be finite and at least a control period, {period} s"
        )
    return count


class Encoders:
    """Encoders of the two wheels, [left, right].

    Positions are rounded down to whole counts, with a random phase within a count for each wheel,
    and 0 at angle 0. Velocities are position differences over the period.

    Args:
        counts_per_revolution: Counts per turn of a wheel; 0: exact positions and velocities.
        period: Time between two readings, s, > 0.
        seed: Seed of the phases, >= 0.
    """

    def __init__(self, counts_per_revolution: int, period: float, seed: int = 0) -> None:
        counts = counts_per_revolution
        if not _is_whole(counts) or not 0 <= counts < 2**31:
            raise ValueError(
                f"encoder counts_per_revolution = {counts}: "
                "must be a whole number from 0 (exact) to 2^31 - 1"
            )
        if not (math.isfinite(period) and period > 0.0):
            raise ValueError(f"encoder period = {period} s: must be finite and > 0")
        if seed < 0:
            raise ValueError(f"encoder seed = {seed}: must be >= 0")
        self._period = float(period)
        self._counts_per_radian = int(counts) / math.tau
        self.phase = np.random.default_rng(seed).random(2).tolist()
        self.reset()

    def reset(self, angles: Pair = (0.0, 0.0)) -> None:
        """Take these angles (rad) as the previous reading."""
        self._previous = self._counts(angles)

    def read(self, angles: Pair, velocities: Pair) -> tuple[Pair, Pair]:
        """Return measured positions, rad, and velocities, rad/s, [left, right]; once per period.

        Exact encoders return the true angles (unwrapped) and velocities.

        Raises:
            ValueError: An angle or a speed is not finite.
        """
        if not all(map(math.isfinite, (*angles, *velocities))):
            raise ValueError(
                f"wheel angles {angles} rad, speeds {velocities} rad/s: must be finite"
            )
        if self._counts_per_radian == 0.0:
            return (angles[0], angles[1]), (velocities[0], velocities[1])
        counts = self._counts(angles)
        scale = 1.0 / self._counts_per_radian
        measured = [
            (now - before) * scale / self._period
            for now, before in zip(counts, self._previous, strict=True)
        ]
        self._previous = counts
        return (counts[0] * scale, counts[1] * scale), (measured[0], measured[1])

    def _counts(self, angles: Pair) -> list[int]:
        return [
            math.floor(angle * self._counts_per_radian + phase)
            for angle, phase in zip(angles, self.phase, strict=True)
        ]


class VirtualRobot:
    """An engine with actuator and encoders, read once per control period, s, on a floor."""

    def __init__(
        self,
        engine: Simulator,
        actuator: Actuator,
        encoders: Encoders,
        period: float,
        floor: SlopedFloor | None = None,
    ) -> None:
        self.engine = engine
        self._floor = floor
        self._actuator = actuator
        self._encoders = encoders
        self._period = period
        self._steps = 0
        self._start = engine.time
        self.sample = self._measure((0.0, 0.0))

    def advance(self, command: Pair) -> JointSample:
        """Apply the command [left, right] in N m for one period; return the sample at its end.

        Raises:
            ValueError: The command is not finite; nothing has moved.
        """
        reported, acting = self._actuator.apply(command)
        if self._floor is None:
            self.engine.step(acting, self._period)
        else:
            self._floor.step(self.engine, acting, self._period)
        self._steps += 1
        self.sample = self._measure(reported)
        return self.sample

    def _measure(self, reported: Pair) -> JointSample:
        position, velocity = self._encoders.read(
            self.engine.wheel_angles(), self.engine.wheel_velocities()
        )
        # Counted, not summed, so that stamps stay on the control grid in runs of hours.
        return JointSample(self._start + self._steps * self._period, position, velocity, reported)


def received_stamp(stamp: float) -> float:
    """Return a stamp, s, as a node receives it: whole nanoseconds."""
    whole, rest = divmod(round(stamp * NANOSECONDS), NANOSECONDS)
    return whole + rest / NANOSECONDS


def as_received(sample: JointSample) -> JointSample:
    """Return a sample as a node receives it."""
    return replace(sample, stamp=received_stamp(sample.stamp))


class Payload(NamedTuple):
    """A load: mass in kg, x and z in m, yaw_inertia in kg m^2; see Simulator.set_payload."""

    mass: float
    x: float
    z: float
    yaw_inertia: float


def payload_from_text(text: str, robot: Robot) -> Payload | None:
    """Return the load that a text specifies; None for none.

    The text is "mass,x,z,yaw_inertia" with commas or spaces; a share such as "50%", by which M_e
    and I_e increase; or "none".

    Raises:
        ValueError: The text is none of these, the load is not physical, or the robot would tip
            over.
    """
    words = text.replace(",", " ").split()
    if words in ([], [NOTHING]):
        return None
    try:
        if len(words) == 1 and words[0].endswith("%"):
            fraction = float(words[0].removesuffix("%")) / 100.0
            model = robot.model
            load = Payload(
                fraction * model.equivalent_mass, 0.0, 0.0, fraction * model.equivalent_inertia
            )
        else:
            load = Payload(*map(float, words))
        if not all(map(math.isfinite, load)):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"payload = {text!r}: {EXAMPLE}") from None
    try:
        check_payload(*load)
        check_balance(robot, load.mass, load.x, load.yaw_inertia)
    except ValueError as error:
        raise ValueError(f"payload = {text!r}: {error}; {EXAMPLE}") from None
    return load


class PayloadSchedule:
    """Puts a load on the robot once, at a robot time, s; below 0: never."""

    def __init__(self, load: Payload | None, time: float) -> None:
        self._load = load if time >= 0.0 else None
        self._time = time

    def apply(self, engine: Simulator, time: float) -> bool:
        """Put the load on if it is due at the engine's time, s; return whether it was put on.

        Raises:
            ValueError: The robot cannot carry it.
        """
        if self._load is None or time < self._time - TOLERANCE:
            return False
        load, self._load = self._load, None
        engine.set_payload(*load)
        return True


# Motors and encoders of many robots at once; equal seeds give the noise and phases of each robot.

DRAWN = 200


class BatchActuator:
    """Motors of n robots; see Actuator.

    Args:
        limits: Largest torque per wheel, N m, (n,), > 0.
        delay_samples: Delay of all robots, control samples.
        noise: Standard deviation relative to the torque, a number or (n,).
        seeds: Seed of each robot's noise; empty: all 0.
        dead_bands: Dead bands [left, right], N m, (2, n); None: none.
    """

    def __init__(
        self,
        limits: ArrayLike,
        delay_samples: int = 0,
        noise: ArrayLike = 0.0,
        seeds: Sequence[int] = (),
        dead_bands: Array | None = None,
    ) -> None:
        self._limits = np.atleast_1d(np.asarray(limits, dtype=float))
        n = len(self._limits)
        self._noise = np.broadcast_to(np.asarray(noise, dtype=float), (n,))
        self._seeds = list(seeds) or [0] * n
        for limit, fraction, seed in zip(self._limits, self._noise, self._seeds, strict=True):
            Actuator(float(limit), delay_samples, float(fraction), seed)
        self._bands = None if dead_bands is None or not dead_bands.any() else dead_bands
        self._generators = [np.random.default_rng(seed) for seed in self._seeds]
        self._delay = delay_samples
        self._pending = [np.zeros((2, n))] * delay_samples
        self._factors: list[Array] = []

    def apply(self, command: Array) -> tuple[Array, Array]:
        """Return the torques of the next interval, (reported, acting), N m, (2, n) each.

        Raises:
            ValueError: A command is not finite.
        """
        if not np.isfinite(command).all():
            raise ValueError("a torque command is not finite; send 0 to stop")
        reported = np.clip(command, -self._limits, self._limits)
        acting = reported
        if self._delay:
            self._pending.append(reported)
            acting = self._pending.pop(0)
        if self._bands is not None:
            acting = np.where(np.abs(acting) >= self._bands, acting, 0.0)
        if self._noise.any():
            acting = acting * self._next_factors()
        return reported, acting

    def _next_factors(self) -> Array:
        if not self._factors:
            drawn = np.stack([g.standard_normal((DRAWN, 2)) for g in self._generators], axis=2)
            self._factors = list((1.0 + self._noise * drawn)[::-1])
        return self._factors.pop()


class BatchEncoders:
    """Encoders of n robots, with counts per turn (0: exact) and a seed of each; see Encoders."""

    def __init__(
        self, counts_per_revolution: Sequence[int], period: float, seeds: Sequence[int]
    ) -> None:
        for counts, seed in zip(counts_per_revolution, seeds, strict=True):
            Encoders(counts, period, seed)
        self._exact = np.array([counts == 0 for counts in counts_per_revolution])
        counted = np.array([counts or 1 for counts in counts_per_revolution], dtype=float)
        self._per_radian = counted / math.tau
        self._phase = np.array([np.random.default_rng(seed).random(2) for seed in seeds]).T

    def read(self, angles: Array) -> Array:
        """Return measured angles for true ones, rad, (2, n) both."""
        scale = 1.0 / self._per_radian
        measured: Array = np.floor(angles * self._per_radian + self._phase) * scale
        return np.where(self._exact, angles, measured) if self._exact.any() else measured


STEEPEST = 20.0
"""Steepest slope, degrees."""
# Longest time with the heading of its middle, s: at 3 rad/s the force is wrong by 1e-5 of itself.
LONGEST_PART = 0.005


class SlopedFloor:
    """A floor with a slope, under a robot of any engine: docs/theory/simulators.md#a-sloped-floor.

    `slope`: 0 to STEEPEST degrees; `downhill`: direction in which it falls, in odom, degrees,
    counter-clockwise from x.

    Raises:
        ValueError: A value is outside its range.
    """

    def __init__(self, robot: Robot, slope: float, downhill: float = 0.0) -> None:
        if not 0.0 <= slope <= STEEPEST:
            raise ValueError(f"slope = {slope:g} degrees: must be from 0 to {STEEPEST:g}")
        if not math.isfinite(downhill):
            raise ValueError(f"downhill = {downhill} degrees: must be finite")
        self._geometry = robot.geometry
        self._model = robot.model
        self._pull = GRAVITY * math.sin(math.radians(slope))
        self._downhill = math.radians(downhill)

    def step(self, engine: Simulator, torque: Pair, duration: float) -> None:
        """Advance an engine on this floor; arguments and errors as in Simulator.step."""
        if self._pull == 0.0:
            engine.step(torque, duration)
            return
        left, right = check_torque(torque)
        parts = math.ceil(check_duration(duration) / LONGEST_PART - 1e-9)
        part = duration / parts
        mass, moment = self._loads(engine)
        for _ in range(parts):
            heading = engine.pose()[2] + 0.5 * part * engine.velocity()[1]
            away = self._downhill - heading
            own_left, own_right = self._geometry.wheel_torque(
                mass * self._pull * math.cos(away), moment * self._pull * math.sin(away)
            )
            engine.step((left, right), part, (own_left, own_right))

    def _loads(self, engine: Simulator) -> Pair:
        """Return mass (kg) and first moment about the axle (kg m), including the payload."""
        model, k = self._model, engine.parameters()
        r, b = model.wheel_radius, model.half_track
        # M_e = 1 / (r K7) = m + 2 J / r^2, and I_e = -b / (r K8) with K6 = -m_b d / I_e.
        mass = 1.0 / (r * k.k7) - 2.0 * model.wheel_inertia_spin / r**2
        return mass, k.k6 * b / (r * k.k8)
