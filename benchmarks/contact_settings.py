#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Identification errors on engines with contacts, relative to the closed form, by settings.

    ./diffbot python benchmarks/contact_settings.py [--engine gazebo] [--robot twil]
        [--amplitude 0.3 0.6] [--time 40]

For each choice of settings, random binary wheel torques drive the robot. K5..K8 are estimated from
noise-free wheel speeds by batch least squares on integrals over 0.2 s. Prints the errors in % of
the closed form, and their causes:

    K5*     error of K5 if the regression includes the term v omega^2 of the lateral creep
    creep   coefficient of that term, ms; expected: docs/theory/simulators.md#mujoco
    side    largest lateral speed of the axle, mm/s (0 for a wheel that rolls without slip)
    slip    largest difference between rim and axle speed, mm/s
    sink    largest change of the axle's height, um;  pitch: largest, urad
    steps/s inner steps per second of wall time
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import numpy as np
from benchmark_tables import options

from diffbot_description import Robot, load_robot
from diffbot_sim.engines.gazebo_engine import GazeboSimulator
from diffbot_sim.engines.mujoco_engine import MujocoSimulator
from diffbot_sim.engines.mujoco_model import ContactSettings
from diffbot_sim.gazebo.world import PhysicsSettings

Engine = MujocoSimulator | GazeboSimulator

SAMPLE = 0.001
WINDOW = 200
MUJOCO = ContactSettings()
MUJOCO_SETTINGS = {
    "default": MUJOCO,
    "friction solref 4 ms": replace(MUJOCO, friction_time_constant=0.004),
    "friction solref 2 ms": replace(MUJOCO, friction_time_constant=0.002),
    "inner step 1 ms": replace(MUJOCO, inner_step=0.001),
    "inner step 0.25 ms": replace(MUJOCO, inner_step=0.00025),
    "normal solref 20 ms": replace(MUJOCO, time_constant=0.02),
    "solimp 0.9 0.95": replace(MUJOCO, impedance=(0.9, 0.95)),
    "impratio 1": replace(MUJOCO, impratio=1.0),
    "pyramidal cone": replace(MUJOCO, elliptic=False),
    "friction 1": replace(MUJOCO, wheel_friction=1.0),
    "friction 2": replace(MUJOCO, wheel_friction=2.0),
    "MuJoCo's own, solref 4 ms": ContactSettings(
        friction_time_constant=0.004,
        impedance=(0.9, 0.95),
        elliptic=False,
        impratio=1.0,
        wheel_friction=1.0,
    ),
}
GAZEBO = PhysicsSettings()
GAZEBO_SETTINGS = {
    "default": GAZEBO,
    "quick, 50 iterations": replace(GAZEBO, solver="quick"),
    "quick, 200 iterations": replace(GAZEBO, solver="quick", iterations=200),
    "no mixing": replace(GAZEBO, mixing=0.0),
    "inner step 0.5 ms": replace(GAZEBO, inner_step=0.0005),
    "stiffness 1e6": replace(GAZEBO, stiffness=1e6),
    "stiffness 1e8": replace(GAZEBO, stiffness=1e8),
    "damping 1e2": replace(GAZEBO, damping=1e2),
    "damping 1e4": replace(GAZEBO, damping=1e4),
    "friction 1": replace(GAZEBO, wheel_friction=1.0),
    "friction 2": replace(GAZEBO, wheel_friction=2.0),
}
ENGINES: dict[str, tuple[Callable[..., Engine], dict]] = {
    "mujoco": (MujocoSimulator, MUJOCO_SETTINGS),
    "gazebo": (GazeboSimulator, GAZEBO_SETTINGS),
}


def drive(sim: Engine, robot: Robot, amplitude: float, duration: float) -> np.ndarray:
    """Rows [v, omega by the wheels, v true, v sideways, tau_l, tau_r, height, pitch] per SAMPLE."""
    rng = np.random.default_rng(1)
    r, b = robot.wheels.radius, robot.wheels.half_track
    rows = []
    torque = np.zeros(2)
    x, y, theta = sim.pose()
    for k in range(round(duration / SAMPLE)):
        if k % WINDOW == 0:
            torque = amplitude * rng.choice([-1.0, 1.0], 2)
            v, omega = sim.velocity()
            # Reverse the torque at the speed limits, with a reserve for the other motion.
            if abs(v) > 0.8 * robot.excitation.linear_velocity:
                torque[:] = -np.sign(v) * amplitude * np.array([1.0, 0.5])
            elif abs(omega) > 0.8 * robot.excitation.angular_velocity:
                torque[:] = np.sign(omega) * amplitude * np.array([1.0, -0.5])
        sim.step((torque[0], torque[1]), SAMPLE)
        left, right = sim.wheel_velocities()
        new_x, new_y, new_theta = sim.pose()
        middle = 0.5 * (theta + new_theta)
        sideways = (np.cos(middle) * (new_y - y) - np.sin(middle) * (new_x - x)) / SAMPLE
        x, y, theta = new_x, new_y, new_theta
        height, _, pitch = sim.attitude()
        rows.append(
            [0.5 * r * (left + right), 0.5 * r * (right - left) / b, sim.velocity()[0], sideways]
            + [*torque, height, pitch]
        )
    return np.array(rows)


def fit(rate: np.ndarray, *terms: np.ndarray) -> np.ndarray:
    """Fit the windows' changes of `rate` to the integrals of `terms` by least squares."""

    def integral(signal: np.ndarray, kept: bool) -> np.ndarray:
        pieces = signal[1:] if kept else 0.5 * (signal[1:] + signal[:-1])
        return np.diff(np.concatenate([[0.0], np.cumsum(pieces) * SAMPLE])[::WINDOW])

    # The last term is the torque: constant within a sample.
    last = len(terms) - 1
    regressors = np.column_stack([integral(t, i == last) for i, t in enumerate(terms)])
    return np.linalg.lstsq(regressors, np.diff(rate[::WINDOW]), rcond=None)[0]


def inner_speed(sim: Engine, inner_step: float) -> float:
    """Return the inner steps per second of wall time in control periods of 10 ms."""
    start = time.perf_counter()
    for _ in range(200):
        sim.step((0.0, 0.0), 0.01)
    return 2.0 / inner_step / (time.perf_counter() - start)


def report(
    label: str, sim: Engine, robot: Robot, inner_step: float, amplitude: float, t: float
) -> str:
    """Return a line of the table."""
    rows = drive(sim, robot, amplitude, t)
    v, omega, true_v, sideways, left, right, height, pitch = rows.T
    k5, k7 = fit(v, omega**2, left + right)
    k5_creep, creep, _ = fit(v, omega**2, v * omega**2, left + right)
    k6, k8 = fit(omega, v * omega, left - right)
    true = sim.parameters()
    result = np.array([k5, k6, k7, k8, k5_creep])
    errors = 100.0 * (result / [true.k5, true.k6, true.k7, true.k8, true.k5] - 1.0)
    causes = (
        1e3 * creep,
        1e3 * np.abs(sideways).max(),
        1e3 * np.abs(v - true_v).max(),
        1e6 * np.ptp(height),
        1e6 * np.abs(pitch).max(),
    )
    return (
        f"{label:26s}"
        + "".join(f"{e:8.2f}" for e in errors)
        + "".join(f"{c:9.3g}" for c in causes)
        + f"{inner_speed(sim, inner_step):9.0f}"
    )


def main() -> None:
    """Print the table for the amplitudes of the command line."""
    parser = options(__doc__)
    parser.add_argument("--engine", choices=ENGINES, default="mujoco")
    parser.add_argument("--robot", default="twil", help="name or file, as for load_robot")
    parser.add_argument(
        "--amplitude", type=float, nargs="+", default=[0.3, 0.6], help="torques, N m"
    )
    parser.add_argument("--time", type=float, default=40.0, help="robot time per line, s")
    arguments = parser.parse_args()
    robot = load_robot(arguments.robot).without_friction()
    engine, choices = ENGINES[arguments.engine]
    for amplitude in arguments.amplitude:
        print(
            f"{arguments.engine}, {robot.name}, +-{amplitude} N m, {arguments.time} s; errors in %"
        )
        print(
            f"{'settings':26s}"
            + "".join(f"{h:>8s}" for h in ("K5", "K6", "K7", "K8", "K5*"))
            + "".join(f"{h:>9s}" for h in ("creep", "side", "slip", "sink", "pitch", "steps/s"))
        )
        for label, settings in choices.items():
            with closing(engine(robot, settings)) as sim:
                line = report(label, sim, robot, settings.inner_step, amplitude, arguments.time)
            print(line, flush=True)


if __name__ == "__main__":
    main()
