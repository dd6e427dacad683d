"""The three experiments many times over: do the 95 % intervals hold the truth?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.omni.coasting import Coasting
from diffbot_ident.omni.coasting_experiment import coast, coasting_of
from diffbot_ident.omni.coasting_fit import fit_coasting
from diffbot_ident.omni.coasting_inertia import fit_inertia
from diffbot_ident.omni.coasting_published import fit_coasting_published, inertia_published
from diffbot_ident.omni.estimate import Estimate
from diffbot_ident.omni.hanging import HangingRig, fit_acceleration, fit_acceleration_published
from diffbot_ident.omni.hanging_experiment import hang
from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.published import SAMPLE_PERIOD, TABLE_4
from diffbot_ident.omni.robot import AXES, OmniRobot
from diffbot_ident.omni.sensors import OmniSensors
from diffbot_ident.omni.steady_experiment import drive_steadily, steady_points
from diffbot_ident.omni.steady_fit import SteadyFit, fit_steady


@dataclass(frozen=True)
class Repeated:
    """One parameter by one method, over all runs.

    Attributes:
        method: of identification.
        quantity: the parameter.
        truth: its value in the simulated robot, SI.
        values: estimates of it, (runs,).
        half_widths: of their 95 % intervals, (runs,).
    """

    method: str
    quantity: str
    truth: float
    values: Array
    half_widths: Array

    @property
    def bias(self) -> float:
        """Mean error, as a share of the truth."""
        return float(np.mean(self.values)) / self.truth - 1.0

    @property
    def spread(self) -> float:
        """Standard deviation of the estimates, as a share of the truth."""
        return float(np.std(self.values, ddof=1)) / self.truth

    @property
    def half_width(self) -> float:
        """Mean half width of the 95 % intervals, as a share of the truth."""
        return float(np.mean(self.half_widths)) / self.truth

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth."""
        return float(np.mean(np.abs(self.values - self.truth) <= self.half_widths))


def _repeated(method: str, quantity: str, truth: float, estimates: Sequence[Estimate]) -> Repeated:
    values = np.array([estimate.value for estimate in estimates])
    half_widths = np.array([estimate.half_width for estimate in estimates])
    return Repeated(method, quantity, truth, values, half_widths)


def repeat_experiments(
    robot: OmniRobot,
    random: np.random.Generator,
    runs: int,
    coastings: int = 5,
    sensors: OmniSensors | None = None,
) -> list[Repeated]:
    """All methods on simulated experiments.

    Args:
        robot: holds the truth. The methods get l K_t / r and b of it, and nothing else.
        random: source of the noise.
        runs: repetitions, at least 2.
        coastings: of each axis in one repetition.
        sensors: noise and quantisation; those of `OmniSensors` by default.

    Raises:
        ValueError: there are fewer than 2 runs or no coastings.
    """
    if runs < 2 or coastings < 1:
        raise ValueError(f"runs = {runs}, coastings = {coastings}: at least 2 and 1 are needed")
    sensors = sensors or OmniSensors()
    speeds, forces = steady_points(drive_steadily(robot, sensors, random, runs), robot)
    steady = [
        [fit_steady(speeds[run, axis], forces[run, axis]) for run in range(runs)]
        for axis in range(3)
    ]
    recording = coast(robot, sensors, random, runs * coastings)
    coasts = [
        [
            [coasting_of(recording, coastings * run + i, axis) for i in range(coastings)]
            for run in range(runs)
        ]
        for axis in range(3)
    ]
    found = [*_friction(robot, steady, coasts), *_inertia_1_2(robot, steady[2], coasts[2])]
    return [*found, *_inertia_3(robot, random, runs, sensors)]


def _friction(
    robot: OmniRobot, steady: list[list[SteadyFit]], coasts: list[list[list[Coasting]]]
) -> list[Repeated]:
    """Methods 1 and 2."""
    found = []
    for i, axis in enumerate(AXES):
        b, c, name = robot.viscous[i], robot.coulomb[i], axis.lower()
        found.append(_repeated("1 steady", f"B_{name}", b, [fit.viscous for fit in steady[i]]))
        found.append(_repeated("1 steady", f"C_{name}", c, [fit.coulomb for fit in steady[i]]))
    for i, axis in enumerate(AXES):
        mass, name = robot.masses[i], axis.lower()
        per = "J" if axis == "W" else "M"
        b, c = robot.viscous[i] / mass, robot.coulomb[i] / mass
        for method, fit in (
            ("2 coasting", fit_coasting),
            ("2 as printed", fit_coasting_published),
        ):
            fits = [fit(runs) for runs in coasts[i]]
            found.append(_repeated(method, f"B_{name} / {per}", b, [f.rate for f in fits]))
            found.append(_repeated(method, f"C_{name} / {per}", c, [f.deceleration for f in fits]))
    return found


def _inertia_1_2(
    robot: OmniRobot, steady: list[SteadyFit], coasts: list[list[Coasting]]
) -> list[Repeated]:
    """Methods 1 and 2 together."""
    pairs = list(zip(coasts, steady, strict=True))
    ours = [fit_inertia(runs, fit) for runs, fit in pairs]
    old = [inertia_published(runs, fit.viscous.value, fit.coulomb.value) for runs, fit in pairs]
    return [
        _repeated("1 + 2", "J", robot.inertia, ours),
        _repeated("1 + 2 as printed", "J", robot.inertia, old),
    ]


def _inertia_3(
    robot: OmniRobot, random: np.random.Generator, runs: int, sensors: OmniSensors
) -> list[Repeated]:
    """Method 3 with the mass of the paper's first experiments."""
    rig = HangingRig(TABLE_4[0].load)
    angles = hang(rig, robot.inertia, sensors.angle, random, runs)
    ours = [rig.inertia(fit_acceleration(SAMPLE_PERIOD, angle)) for angle in angles]
    old = [
        rig.inertia_published(fit_acceleration_published(SAMPLE_PERIOD, angle)) for angle in angles
    ]
    fitted = [rig.inertia_published(fit_acceleration(SAMPLE_PERIOD, angle)) for angle in angles]
    return [
        _repeated("3 hanging", "J", robot.inertia, ours),
        _repeated("3 as printed", "J", robot.inertia, old),
        _repeated("3 as printed, our dW/dt", "J", robot.inertia, fitted),
    ]
