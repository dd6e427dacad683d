#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dead band of velocity robots: accuracy of its identification, and motion at very low speed.

Robots are drawn at random: time constants 0.1 to 2 s, drags 0.4 to 1.6, dead times 0 to 0.2 s, dead
bands 4 to 30 % of the largest command, odometry at 20 to 100 Hz with 512 to 8192 counts or none and
noise of 1 to 20 mm/s and 2 to 40 mrad/s, commands of random size held for 0.4 to 2 s, 60 s. Parts:

sizes       `identify` on recordings whose commands have 2 to 8 sizes, sent at 5 to 20 Hz by a clock
            of their own: coverage of the interval of the dead band, by kind, and its width over
            the distance between the two commands next to the dead band.
recording   `identify` on both axes of each robot: coverage of the 95 % intervals of dead band,
            inertia and drag, by kind of dead band, and the largest error of inertia and drag
            in %. `none`: robots without a dead band. `large`: with one, but no command below 60 %
            of the largest, so that no dead band may be reported.
fits        the same for the fits alone, without the model checks, which take most of the time.
driving     the same for the estimate together with sigma while driving, for both kinds and for
            robots without dead band.
creep       average speed at very low commands: 0.01 m/s with a dead band of 0.05 m/s, 0.03 rad/s
            with 0.2 rad/s.
path        rms error of the true position on a slow figure-8 (0.25 m, 50 s), without dead band,
            with it, and compensated; then the largest speeds at rest.

Robots of creep and path: `turtlebot2`, Table 1 of Siwek et al. (2023); `quick`, sigma = 0.3, 0.2,
1.05, 0.95. k_v = k_omega = 10 1/s, as in the node. Noise is 2 mm/s and 5 mrad/s, the encoders have
2578 counts.

    ./diffbot python benchmarks/dead_band.py recording fits driving creep path --robots 60
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmark_tables import Table, contains, options, spread, wilson
from velocity_recordings import driven

from arc_odometry import MotionLimits, WheelGeometry
from arc_odometry.number_range import Array
from diffbot_controllers.velocity_tracking.dead_band_compensation import NO_DEAD_BANDS
from diffbot_controllers.velocity_tracking.law import (
    TrackerSettings,
    VelocityTracker,
)
from diffbot_description.dead_band import DeadBand, DeadBandKind, passed_of
from diffbot_description.sigma import Sigma
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_band_analysis import NAME
from diffbot_recordings.dead_time import fit_dead_band
from diffbot_recordings.findings import analyse_axes
from diffbot_recordings.recording_analysis import STILL
from diffbot_recordings.samples import Batch
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings
from diffbot_recordings.velocity_analysis import analyse_axis
from diffbot_sim.velocity_robot import DriveDeadBand, VelocityOdometry, VelocityRobot
from diffbot_study.velocity_driving import VelocityDrive, simulate_velocity_drive
from pose2d_trajectories import Reference, Trajectory, make_trajectory

DURATION = 60.0  # s
LARGEST = np.array([0.5, 1.5])  # commands, m/s and rad/s
LEAST_LARGE = 0.6
ROUNDING = 1e-9
UNITS = ("m/s", "rad/s")
BANDS = (0.05, 0.2)  # m/s, rad/s
CREEP = (0.01, 0.03)  # m/s, rad/s
NOISE, COUNTS = (0.002, 0.005), 2578
LIMITS = MotionLimits(0.7, 3.14)
ROBOTS = {
    "turtlebot2": Sigma(3.446, 4.576, 0.86, 0.254),
    "quick": Sigma(0.3, 0.2, 1.05, 0.95),
}


@dataclass(frozen=True)
class Sample:
    """A random robot and its recording.

    Attributes:
        sigma: True sigma.
        bands: True dead bands, m/s and rad/s.
        dead_time: True dead time, s.
        period: Sampling period, s.
        command: Command held from each sample on, shape (n, 2).
        velocity: Measured velocity, shape (n, 2).
    """

    sigma: Sigma
    bands: np.ndarray
    dead_time: float
    period: float
    command: np.ndarray
    velocity: np.ndarray

    def piece(self, axis: int) -> AxisSegment:
        """Return the recording of an axis."""
        return AxisSegment(self.period, self.command[:, axis], self.velocity[:, axis])


def axes_of(
    robots: int, seed: int, kind: DeadBandKind | None, large: bool = False
) -> Iterator[tuple[Sample, int]]:
    """Yield each robot twice, for its two axes."""
    for number in range(robots):
        one = sample(seed, number, kind, large)
        yield from ((one, axis) for axis in (0, 1))


def sample(seed: int, number: int, kind: DeadBandKind | None, large: bool = False) -> Sample:
    """Draw a robot and record it; kind None: no dead band."""
    r = np.random.default_rng((seed, number))
    period = float(r.choice([0.01, 0.02, 0.05]))
    tau, drag = 10.0 ** r.uniform(-1.0, 0.3, 2), r.uniform(0.4, 1.6, 2)
    dead_time = float(r.uniform(0.0, 0.2))
    bands = r.uniform(0.04, 0.3, 2) * LARGEST * (kind is not None)
    sigma = Sigma.of_axes(*((t * d, d) for t, d in zip(tau.tolist(), drag.tolist(), strict=True)))
    drive = DriveDeadBand(tuple(bands.tolist()), kind=kind or DeadBandKind.OFFSET)
    robot = VelocityRobot(sigma, dead_time=dead_time, dead_band=drive)
    noise = 10.0 ** r.uniform((-3.0, -2.7), (-1.7, -1.4))
    counts = int(r.choice([0, 512, 2048, 8192]))
    geometry = WheelGeometry(0.05, 0.05, 0.3)
    sensor = VelocityOdometry(
        robot, period, geometry, counts=counts, velocity_noise=tuple(noise), seed=number
    )
    rows, until, command = [], 0.0, (0.0, 0.0)
    for k in range(round(DURATION / period)):
        if k * period >= until:
            until += r.uniform(0.4, 2.0)
            sizes = r.uniform(LEAST_LARGE, 1.0, 2) if large else r.uniform(0.0, 1.0, 2)
            command = tuple((sizes * r.choice([-1.0, 1.0], 2) * LARGEST).tolist())
        rows.append((*command, *sensor.read()[1]))
        robot.step(command, period)
    columns = np.array(rows)
    return Sample(sigma, bands, dead_time, period, columns[:, :2], columns[:, 2:])


def of_sizes(seed: int, number: int, kind: DeadBandKind) -> tuple[list[Segment], Array, Array]:
    """Draw a robot and record it with commands of few sizes.

    Returns:
        Segments, the true dead bands, and the sizes of the commands, shape (2, sizes).
    """
    r = np.random.default_rng((seed, number, 7))
    period, spacing = r.uniform(0.02, 0.1), r.uniform(0.05, 0.2)
    tau, gain = 10.0 ** r.uniform(-1.2, -0.2, 2), r.uniform(0.8, 1.1, 2)
    dead_time = r.uniform(0.0, 0.25)
    bands = r.uniform(0.05, 0.4, 2) * LARGEST
    sizes = np.sort(r.uniform(0.05, 1.0, (2, int(r.integers(1, 8)))), axis=1) * LARGEST[:, None]
    # One size at least is above the dead band, one below: without, nothing can be told.
    sizes = np.column_stack((r.uniform(0.2, 0.9, 2) * bands, sizes[:, :-1], LARGEST))
    sent = r.uniform(0.0, spacing) + spacing * np.arange(int(DURATION / spacing))
    times = period * np.arange(int(DURATION / period))
    command = np.zeros((len(sent), 2))
    until = 0.0
    for k, t in enumerate(sent.tolist()):
        command[k] = command[k - 1] if k else 0.0
        if t >= until:
            until = t + r.uniform(0.4, 2.0)
            command[k] = [r.choice(own) for own in sizes] * r.choice([-1.0, 0.0, 1.0], 2)
    noise = 10.0 ** r.uniform((-3.0, -2.7), (-2.0, -1.7))
    measured = np.column_stack(
        [
            driven(
                times, sent + dead_time, passed_of(command[:, i], bands[i], kind),
                float(tau[i]), float(gain[i]),
            )[1]
            for i in range(2)
        ]
    )  # fmt: skip
    measured += noise * r.standard_normal(measured.shape)
    batches = [
        Batch(times, {"v": measured[:, 0], "w": measured[:, 1]}),
        Batch(sent, {"command_v": command[:, 0], "command_w": command[:, 1]}),
    ]
    settings = SegmentSettings(still=STILL)
    channels = ("command_v", "command_w", "v", "w")
    return list(Segmenter(settings).segments(batches, channels)), bands, sizes


def sizes(robots: int, seed: int) -> None:
    """Print coverage and widths of the dead band's intervals where commands have few sizes."""
    heads = ("estimated", "reported", "of its kind", "intervals hold, %")
    table = Table("sizes", *heads, "width over commands' distance: median, largest")
    for kind in DeadBandKind:
        inside, widths, estimated, right = [], [], 0, 0
        for number in range(robots):
            segments, bands, sent = of_sizes(seed, number, kind)
            for axis, analysis in enumerate(analyse_axes(segments).values()):
                verdict = analysis.verdict
                estimated += verdict.usable
                value = verdict.value(NAME) if verdict.usable else None
                if value is None or not value.identifiable:
                    continue
                right += analysis.fit.kind is kind
                low, high = value.interval95
                band = bands[axis]
                inside.append(low - ROUNDING <= band <= high + ROUNDING)
                above, below = sent[axis][sent[axis] > band], sent[axis][sent[axis] <= band]
                widths.append((high - low) / (above.min() - below.max(initial=0.0)))
        table.row(kind.value, estimated, len(inside), right, wilson(inside), spread(widths))


def recording(robots: int, seed: int) -> None:
    """Print the coverage of `identify`'s intervals."""
    parameters = (NAME, "inertia", "drag")
    holds = [f"{name} holds, %" for name in parameters]
    table = Table("recording", "estimated", "reported", *holds, "errors, %: median, largest")
    cases = {"offset": DeadBandKind.OFFSET, "threshold": DeadBandKind.THRESHOLD, "none": None}
    for name, kind in {**cases, "large": DeadBandKind.OFFSET}.items():
        inside: dict[str, list[bool]] = {parameter: [] for parameter in parameters}
        off: list[float] = []
        reported = estimated = 0
        for one, axis in axes_of(robots, seed, kind, large=name == "large"):
            verdict = analyse_axis([one.piece(axis)], f"axis {axis}", UNITS[axis]).verdict
            estimated += verdict.usable
            reported += verdict.value(NAME).identifiable
            truths = (one.bands[axis], *one.sigma.axis(axis))
            for parameter, true in zip(parameters, truths, strict=True):
                value = verdict.value(parameter)
                if value.identifiable and verdict.usable:
                    low, high = value.interval95
                    inside[parameter].append(low <= true <= high)
                    if parameter != NAME and name != "large":
                        off.append(100.0 * abs(value.value / true - 1.0))
        shares = [wilson(each) if each else "-" for each in inside.values()]
        table.row(name, estimated, reported, *shares, spread(off) if off else "-")


def fits(robots: int, seed: int) -> None:
    """Print the coverage of the intervals of the fits that `identify` chooses from."""
    table = Table("fits: intervals hold, %", "dead band", "inertia", "drag")
    for kind in DeadBandKind:
        inside = []
        for one, axis in axes_of(robots, seed, kind):
            fit = fit_dead_band([one.piece(axis)], kind=kind)
            values = (fit.dead_band, fit.fit.model.inertia, fit.fit.model.drag)
            deviations = (fit.dead_band_std, *fit.fit.std)
            inside.append(contains(values, deviations, (one.bands[axis], *one.sigma.axis(axis))))
        table.row(kind.value, *(wilson(each) for each in np.transpose(inside)))


def driving(robots: int, seed: int) -> None:
    """Print the coverage of the intervals while driving, and the error of sigma."""
    heads = ("dead band used", "intervals hold, %", "sigma1..4, %: median", "largest")
    table = Table("driving", *heads)
    for kind in (*DeadBandKind, None):
        inside, off, used = [], [], 0
        for number in range(robots):
            one = sample(seed, number, kind)
            settings = RecursiveSettings(dead_time=(one.dead_time,) * 2)
            fit = RecursiveFit(Sigma(1.0, 1.0, 1.0, 1.0), None, settings)
            constant = (0.0, 0.0)
            pairs = zip(one.command.tolist(), one.velocity.tolist(), strict=True)
            for k, (command, velocity) in enumerate(pairs):
                fit.update(k * one.period, tuple(velocity), constant)
                constant = tuple(command)
            half = NORMAL_95 * np.sqrt(fit.dead_band_variances)
            away = np.abs(fit.dead_band_values - one.bands)
            inside += (away <= half + ROUNDING)[np.isfinite(half)].tolist()
            used += sum(band.width > 0.0 for band in fit.dead_band)
            off.append(100.0 * np.abs(fit.values / one.sigma.as_array() - 1.0))
        name = "none" if kind is None else kind.value
        table.row(name, used, wilson(inside), np.median(off, axis=0), np.max(off, axis=0))


class _Creep:
    """Reference at constant velocity, starting at the origin."""

    def __init__(self, v: float, omega: float) -> None:
        self._v, self._omega = v, omega

    def at(self, time: float) -> Reference:
        """Return the reference at a time, s: straight motion, or a turn in place."""
        return Reference(self._v * time, 0.0, self._omega * time, self._v, self._omega)


def _drive(
    name: str,
    kind: DeadBandKind | None,
    known: float,
    trajectory: Trajectory | _Creep,
    duration: float,
    seed: int,
) -> VelocityDrive:
    """Drive once; kind None: no dead band; known: compensated share of the dead band."""
    sigma = ROBOTS[name]
    drive = DriveDeadBand(BANDS if kind else (0.0, 0.0), kind=kind or DeadBandKind.OFFSET)
    robot = VelocityRobot(
        sigma, speed_limits=(LIMITS.linear_velocity, LIMITS.angular_velocity), dead_band=drive
    )
    bands = NO_DEAD_BANDS
    if known and kind:
        bands = (DeadBand(known * BANDS[0], kind), DeadBand(known * BANDS[1], kind))
    settings = TrackerSettings(limits=LIMITS, dead_band=bands)
    return simulate_velocity_drive(
        robot,
        VelocityTracker(settings, sigma),
        trajectory,
        duration,
        encoder_counts=COUNTS,
        velocity_noise=NOISE,
        seed=seed,
        period=0.02,
    )


def creep(robots: int, seed: int) -> None:
    """Print the average speeds over the second half of 20 s."""
    seeds = range(seed, seed + max(robots // 10, 2))
    table = Table("creep", "known times", "v: least, most, % of what was asked", "omega", width=30)
    for name, kind, known in itertools.product(ROBOTS, DeadBandKind, (0.0, 1.0, 1.05, 0.95)):
        means = []
        for one in seeds:
            runs = (
                _drive(name, kind, known, _Creep(CREEP[0], 0.0), 20.0, one),
                _drive(name, kind, known, _Creep(0.0, CREEP[1]), 20.0, one),
            )
            middle = len(runs[0].time) // 2
            means.append([np.mean(run.velocity[middle:, i]) for i, run in enumerate(runs)])
        asked = 100.0 * np.array(means) / CREEP
        extent = np.column_stack((asked.min(axis=0), asked.max(axis=0)))
        table.row(f"{name}, {kind.value}", known, *extent)


def path(robots: int, seed: int) -> None:
    """Print the position rms from 3 s on, and the largest speeds of the last 8 s, at rest."""
    trajectory = make_trajectory(
        "figure_eight", amplitude_x=0.25, amplitude_y=0.25, period=50.0, laps=1,
        ramp_up=3.0, ramp_down=3.0,
    )  # fmt: skip
    seeds = range(seed, seed + max(robots // 10, 2))
    table = Table(
        "path", "known times", "rms mm: median, largest", "at rest mm/s, mrad/s", width=30
    )
    for name in ROBOTS:
        cases = [(kind, known) for kind in DeadBandKind for known in (0.0, 1.0, 1.02)]
        for kind, known in [(None, 0.0), *cases]:
            rms, speeds = [], []
            for one in seeds:
                run = _drive(name, kind, known, trajectory, 68.0, one)
                rms.append(1e3 * run.true.rms(3.0)[0])
                speeds.append(np.abs(run.velocity[run.time > run.time[-1] - 8.0]).max(axis=0))
            of_kind = "no dead band" if kind is None else kind.value
            table.row(f"{name}, {of_kind}", known, spread(rms), 1e3 * np.max(speeds, axis=0))


PARTS = {
    "sizes": sizes,
    "recording": recording,
    "fits": fits,
    "driving": driving,
    "creep": creep,
    "path": path,
}


def main() -> None:
    """Print the figures of the requested parts."""
    parser = options(__doc__, robots=60, seed=1000)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="parts to run; default: all")
    given = parser.parse_args()
    for part in given.parts or PARTS:
        PARTS[part](given.robots, given.seed)


if __name__ == "__main__":
    main()
