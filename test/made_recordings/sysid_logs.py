# SPDX-License-Identifier: Apache-2.0
"""SysId logs of simulated drivetrains with known gains: backlash, slip, filters, dead time.

Each side is a motor with the fraction `wheel_fraction` of the inertia (including gear and wheel),
and the body that it moves. In unit volts, with the gains ks, kv, ka of the whole,

    motor   wheel_fraction ka dv_w/dt = V(t - d) - kv v_w - share of ks - F
    body    (1 - wheel_fraction) ka dv_b/dt = F - rest of ks

Until the backlash is taken up, F is 0. Then it is the force that keeps both together, limited to
`grip`, above which the wheel slips. Encoders are on the motor's side, so they see backlash and slip
as real ones do. Speeds are means of the quantised travel over `window`, with noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry.number_range import Array

TESTS = ("slow-forward", "slow-backward", "fast-forward", "fast-backward")
# Integration steps for voltage ramps and voltage steps, and period of the rows, s.
SLOW_STEP, FAST_STEP, ROW = 0.0025, 0.0005, 0.005
# Travel of a wheel per rotation, m.
PER_ROTATION = 0.4787


@dataclass(frozen=True)
class MadeDrivetrain:
    """One direction of motion of a robot, straight or turning on the spot, and its disturbances.

    Attributes:
        ks, kv, ka: Gains of [left, right], V, V s/m, V s^2/m.
        backlash: Travel of the motor before it pushes, m at the rim.
        wheel_fraction: Fraction of the inertia that turns while the body stands, 0 to 1.
        grip: Maximum force between wheel and body, V; infinite: wheels never slip.
        static: Static over dynamic friction, >= 1.
        dead_time: Dead time of measurement and drive together, s.
        window: Averaging window of the velocity, s.
        noise: Noise of the velocity, m/s.
        count: Travel per encoder count, m.
        ramp: Voltage slope of the slow tests, V/s.
        highest: Voltage at which slow tests end, V.
        step: Voltage step of the fast tests, V.
        sag: Fraction of the voltage that the battery loses at a standing start.
        duration: Duration of the fast tests, s.
    """

    ks: tuple[float, float] = (0.5, 0.52)
    kv: tuple[float, float] = (2.4, 2.45)
    ka: tuple[float, float] = (0.35, 0.34)
    backlash: float = 0.0
    wheel_fraction: float = 0.06
    grip: float = math.inf
    static: float = 1.0
    dead_time: float = 0.0
    window: float = 0.0
    noise: float = 0.005
    count: float = 0.0
    ramp: float = 0.5
    highest: float = 6.0
    step: float = 6.0
    sag: float = 0.0
    duration: float = 1.5


def drawn(rng: np.random.Generator) -> MadeDrivetrain:
    """Draw a typical drivetrain of a team, with all disturbances: 20 ms filters, backlash, slip."""
    kv = float(rng.uniform(1.8, 5.5))
    ka = kv * float(np.exp(rng.uniform(math.log(0.08), math.log(0.3))))
    ks = float(rng.uniform(0.3, 1.0))
    step = float(rng.uniform(5.0, 8.0))

    def pair(value: float) -> tuple[float, float]:
        left, right = (value * rng.uniform(0.97, 1.03, 2)).tolist()
        return left, right

    # Half of them slip at the start: the tyres' grip is less than the initial push.
    push = step - ks
    return MadeDrivetrain(
        ks=pair(ks),
        kv=pair(kv),
        ka=pair(ka),
        backlash=float(rng.uniform(0.001, 0.008)),
        wheel_fraction=float(rng.uniform(0.04, 0.12)),
        grip=push * float(rng.uniform(0.6, 1.4)),
        static=float(rng.uniform(1.0, 1.3)),
        dead_time=float(rng.uniform(0.0, 0.03)),
        window=0.02,
        noise=float(rng.uniform(0.002, 0.02)),
        count=PER_ROTATION / float(rng.uniform(1000.0, 8000.0)),
        ramp=float(rng.uniform(0.25, 1.0)),
        step=step,
        sag=float(rng.uniform(0.0, 0.1)),
    )


def make_logs(
    drivetrains: Sequence[MadeDrivetrain], seed: int, angular: bool = False, track: float = 0.6
) -> list[dict[str, object]]:
    """Return a SysId log of each drivetrain, in JSON's structure.

    Args:
        drivetrains: Any number; all are simulated together.
        seed: Seed of noise, and of each motor's initial position in its backlash.
        angular: Whether the robots turn on the spot: then their left wheels run backward.
        track: Distance between the wheels, m, which determines yaw.
    """
    rng = np.random.default_rng(seed)
    logs: list[dict[str, object]] = [
        {
            "sysid": True,
            "test": "Drivetrain (Angular)" if angular else "Drivetrain",
            "units": "Meters",
            "unitsPerRotation": PER_ROTATION,
        }
        for _ in drivetrains
    ]
    for name in TESTS:
        rows = _rows(drivetrains, name, rng, angular, track)
        for log, table in zip(logs, rows, strict=True):
            log[name] = table
    return logs


def _rows(
    drivetrains: Sequence[MadeDrivetrain],
    name: str,
    rng: np.random.Generator,
    angular: bool,
    track: float,
) -> list[list[list[float]]]:
    """Return the rows of one test of all robots."""
    sign = 1.0 if name.endswith("forward") else -1.0
    slow = name.startswith("slow")
    longest = max(
        drivetrain.highest / drivetrain.ramp if slow else drivetrain.duration
        for drivetrain in drivetrains
    )
    step = SLOW_STEP if slow else FAST_STEP
    voltage, speed, distance = _simulated(drivetrains, round(longest / step), slow, rng)
    each = round(ROW / step)
    results = []
    for i, one in enumerate(drivetrains):
        last = round((one.highest / one.ramp if slow else one.duration) / step)
        rows = np.arange(0, last, each)
        quantised = (
            distance[:, i] if one.count == 0.0 else np.floor(distance[:, i] / one.count) * one.count
        )
        window = max(round(one.window / step), 1)
        if one.window > 0.0:
            before = np.maximum(rows - window, 0)
            mean = (quantised[rows] - quantised[before]) / (window * step)
        else:
            mean = speed[rows, i]
        mean = sign * (mean + one.noise * rng.standard_normal(mean.shape))
        side = np.array([-1.0, 1.0]) if angular else np.ones(2)
        mean, ways = mean * side, sign * quantised[rows] * side
        volts = sign * voltage[rows, i] * side
        yaw = (ways[:, 1] - ways[:, 0]) / track
        rate = (mean[:, 1] - mean[:, 0]) / track
        table = np.column_stack(
            (
                100.0 + ROW * np.arange(len(rows)),
                volts,
                ways / PER_ROTATION,
                mean / PER_ROTATION,
                yaw,
                rate,
            )
        )
        results.append(table.tolist())
    return results


def _simulated(
    drivetrains: Sequence[MadeDrivetrain], count: int, slow: bool, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return voltage, speed and travel of the wheels, forward, shape (count, robots, 2) each."""
    step = SLOW_STEP if slow else FAST_STEP
    times = step * np.arange(count)
    gaps = rng.uniform(0.0, 1.0, (len(drivetrains), 2))
    voltage, speed, distance = np.empty((3, count, *gaps.shape))
    for i, one in enumerate(drivetrains):
        # The log contains the voltage at once, but the motion reacts to it only after the dead
        # time.
        late = min(round(one.dead_time / step), count)
        for side in range(2):
            volts = one.ramp * times
            if not slow:
                volts = one.step * (1.0 - one.sag * np.exp(-times / (one.ka[side] / one.kv[side])))
            acting = [0.0] * late + volts[: count - late].tolist()
            gap = one.backlash * float(gaps[i, side])
            voltage[:, i, side] = volts
            speed[:, i, side], distance[:, i, side] = _driven(one, side, gap, acting, step)
    return voltage, speed, distance


def _driven(
    one: MadeDrivetrain, side: int, gap: float, acting: Sequence[float], step: float
) -> tuple[list[float], list[float]]:
    """Return a wheel's speeds and travels before each step, s; all voltages push forward."""
    ks, kv, ka, fraction = one.ks[side], one.kv[side], one.ka[side], one.wheel_fraction
    rest = 1.0 - fraction
    # Exact for inputs constant within a step: velocity added per volt, of both and of the motor.
    whole, light = (-float(np.expm1(-step * kv / (f * ka))) / kv for f in (1.0, fraction))
    limit = min(one.grip, 50.0 * ka)
    wheel = body = travel = 0.0
    together = gap <= 0.0
    speeds, travels = [], []
    for volt in acting:
        speeds.append(wheel)
        travels.append(travel)
        drive = volt - kv * wheel
        at_rest = wheel <= 0.0 and body <= 0.0
        push = 0.0 if at_rest and drive < one.static * ks else drive - ks
        if gap > 0.0:  # motor alone, within its backlash
            wheel = max(wheel + light * (drive - fraction * ks), 0.0)
            gap -= step * wheel
        elif together and rest * (push + ks) <= one.grip:
            wheel = body = max(wheel + whole * push, 0.0)
        else:  # the tyre transmits its maximum force until both have the same speed
            wheel = max(wheel + light * (drive - fraction * ks - limit), 0.0)
            body += step * max(limit - rest * ks, 0.0) / (rest * ka)
            together = wheel <= body
            if together:
                wheel = body = fraction * wheel + rest * body
        travel += step * wheel
    return speeds, travels


def repeated(drivetrain: MadeDrivetrain, rng: np.random.Generator) -> MadeDrivetrain:
    """Return the same robot in another run: with another battery voltage and another grip."""
    grip = drivetrain.grip * float(rng.uniform(0.8, 1.2))
    return replace(drivetrain, grip=grip, sag=float(rng.uniform(0.0, 0.1)))
