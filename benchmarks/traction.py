#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Largest wheel torque at which a robot's wheels neither slip nor lift, on engine mujoco.

`limits.traction` of the robot files was determined with this script; run it for your own robot. The
velocity loops drive the robot at 95 % of its speed limits, with a new velocity every 0.4 s, which
needs the full torque, for 20 s each:

    straight   forwards and backwards
    spin       left and right, on the spot
    mixed      v and omega anywhere within the limits
    corners    both at a limit, of either sign

omega and v are limited to |v omega| <= 5 m/s^2, as in the laws, because robots tip beyond that at
any torque. For each torque and manoeuvre:

    load       minimum load of a wheel, % of its load at rest; 0: it lifts
    lifted     share of the time in which a wheel lifts, %
    slip       largest slip of the axle along or across, mm/s
    dv, dw     largest difference of the change of v and of omega in 10 ms from the closed form
               (41) of Lages (2017), % of the largest change by the torque

    ./diffbot python benchmarks/traction.py [--robot twil] [--torque 0.5 1 1.2 1.5 2 3 5]
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from benchmark_tables import options

from arc_odometry import Pose, Velocity
from diffbot_controllers import LinearizingController, State
from diffbot_description import load_robot
from diffbot_sim.engines.mujoco_engine import MujocoSimulator

PERIOD = 0.01  # control period, s
PARTS = 5  # readings of the contacts per period
HOLD = 40  # periods until the next velocity
SPEED = 0.95  # share of the speed limits
LATERAL = 5.0  # m/s^2
TORQUES = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 1.0)  # shares of limits.torque, default

Manoeuvre = Callable[[int], tuple[float, float]]


def manoeuvres(seed: int) -> dict[str, Manoeuvre]:
    """Return shares of the largest v and omega by name and number of the velocity."""
    anywhere = np.random.default_rng(seed).uniform(-1.0, 1.0, (1000, 2))
    return {
        "straight": lambda n: ((-1.0) ** n, 0.0),
        "spin": lambda n: (0.0, (-1.0) ** n),
        "mixed": lambda n: tuple(anywhere[n]),
        "corners": lambda n: tuple(np.sign(anywhere[n])),
    }


def wanted_velocity(wanted: tuple[float, float], u: Velocity) -> Velocity:
    """Reduce the desired velocity if v omega would be too large at the current velocity."""
    v, omega = wanted
    return Velocity(
        math.copysign(min(abs(v), LATERAL / max(abs(u.omega), 1e-6)), v),
        math.copysign(min(abs(omega), LATERAL / max(abs(u.v), 1e-6)), omega),
    )


def sideways(before: tuple, after: tuple, duration: float) -> float:
    """Return the mean lateral speed of the axle, m/s."""
    middle = 0.5 * (before[2] + after[2])
    dx, dy = after[0] - before[0], after[1] - before[1]
    return (math.cos(middle) * dy - math.sin(middle) * dx) / duration


def drive(sim: MujocoSimulator, robot, torque: float, manoeuvre: Manoeuvre, time: float):
    """Return rows [minimum load in N, share lifted, slip in m/s, errors of (41) in dv, domega]."""
    dynamics = sim.parameters()
    law = LinearizingController(dynamics, torque_limit=torque)
    most = SPEED * robot.limits.linear_velocity, SPEED * robot.limits.angular_velocity
    sim.reset()
    rows = []
    for k in range(round(time / PERIOD)):
        u = Velocity(*sim.velocity())
        fraction = manoeuvre(k // HOLD)
        wanted = wanted_velocity((most[0] * fraction[0], most[1] * fraction[1]), u)
        command = law.update(State(Pose(0.0, 0.0, 0.0), u), wanted, PERIOD)
        loads, slips = [], []
        for _ in range(PARTS):
            before = sim.pose()
            sim.step(command, PERIOD / PARTS)
            loads.append(min(sim.contact_loads()[:2]))
            rims = 0.5 * robot.wheels.radius * sum(sim.wheel_velocities())
            across = sideways(before, sim.pose(), PERIOD / PARTS)
            slips.append(max(abs(rims - sim.velocity()[0]), abs(across)))
        by_torque, drift = dynamics.input_acceleration(command), dynamics.drift(u)
        total = Velocity(by_torque.v + drift.v, by_torque.omega + drift.omega)
        mean = dynamics.mean_drift(u, total, PERIOD)
        now = sim.velocity()
        rows.append(
            (
                min(loads),
                np.mean(np.array(loads) <= 0.0),
                max(slips),
                now[0] - u.v - PERIOD * (by_torque.v + mean.v),
                now[1] - u.omega - PERIOD * (by_torque.omega + mean.omega),
            )
        )
    return np.array(rows)


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument(
        "--torque", type=float, nargs="+", help="torques, N m; default: shares of the limit"
    )
    parser.add_argument("--time", type=float, default=20.0, help="robot time per line, s")
    parser.add_argument("--seed", type=int, default=0, help="seed of the velocities")
    arguments = parser.parse_args()
    robot = load_robot(arguments.robot)
    sim = MujocoSimulator(robot)
    sim.step((0.0, 0.0), 0.1)
    rest = min(sim.contact_loads()[:2])
    print(f"{robot.name}: a wheel carries {rest:.1f} N at rest")
    print("torque N m | manoeuvre | load % | lifted % | slip mm/s |    dv % |    dw %")
    for torque in arguments.torque or [s * robot.limits.torque for s in TORQUES]:
        for name, manoeuvre in manoeuvres(arguments.seed).items():
            try:
                rows = drive(sim, robot, torque, manoeuvre, arguments.time)
            except FloatingPointError:
                print(f"{torque:10.2f} | {name:9} | the robot tips over")
                continue
            most = sim.parameters().input_acceleration((-torque, torque)).omega * PERIOD
            most_v = sim.parameters().input_acceleration((torque, torque)).v * PERIOD
            dv, dw = np.abs(rows[:, 3:]).max(axis=0) / (most_v, most)
            print(
                f"{torque:10.2f} | {name:9} | {100 * rows[:, 0].min() / rest:6.0f}"
                f" | {100 * rows[:, 1].mean():8.1f} | {1e3 * rows[:, 2].max():9.1f}"
                f" | {100 * dv:7.1f} | {100 * dw:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
