#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random four-wheel robots that take velocities, in MuJoCo on three grounds: yaw rate predicted.

The driver is a PI controller of each wheel's speed, whose proportional part needs 10 to 40 % of the
largest yaw rate to overcome the scrubbing of concrete, with a torque limit and a dead time. Each
robot is excited for 60 s in a room of 3 m x 3 m, twice, and the yaw rate is a gyro's. Printed for
each ground: R^2 on held-out parts of the first drive, of a first-order axis and of the drive with
PI control and friction, and of this one on the whole second drive, from its commands alone.

    ./diffbot python benchmarks/skid_steer.py --robots 4 --first 1
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from arc_odometry import Pose, Velocity
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation
from diffbot_recordings.findings import analyse_axes
from diffbot_recordings.scrubbing_drive import STARTS, ScrubbingData
from diffbot_recordings.segments import Segment

STEP, SECONDS, ROOM = 0.002, 60.0, 1.5
# Coefficient of friction, and rolling resistance as a share of the load.
GROUNDS = {"concrete": (0.9, 0.01), "gravel": (0.65, 0.03), "grass": (0.45, 0.06)}
# The same of wet ice.
ICE = (0.08, 0.005)
CHANNELS = (
    "v",
    "w",
    "command_v",
    "command_w",
    "left_rim",
    "right_rim",
    "left_effort",
    "right_effort",
)
EFFORT_NOISE = 0.04  # of a side, over the torque limit of a wheel
Law = Callable[[float, Pose, Velocity], Velocity]
CORNERS = ((1, 1), (-1, 1), (1, -1), (-1, -1))
WHEEL = """<body pos="{x} {y} 0"><joint name="w{i}" type="hinge" axis="0 1 0"
 frictionloss="{loss}" armature="{rotor}"/><geom name="g{i}" type="sphere" size="{r}" mass="{m}"
 contype="0" conaffinity="0"/></body>"""
# The proportional part is the engine's, implicit in time: wheels that slip are light.
MOTOR = '<velocity joint="w{i}" kv="{gain}" forcerange="-{most} {most}"/>'
ROBOT = """<mujoco><option timestep="{step}" cone="elliptic" impratio="100"
 integrator="implicitfast"/><worldbody>
<geom name="floor" type="plane" size="50 50 1"/>
<body pos="0 0 {r}"><freejoint/><geom type="box" size="{length} {width} 0.08" pos="0 0 0.1"
 mass="{m}" contype="0" conaffinity="0"/>{wheels}</body></worldbody>
<contact>{contacts}</contact><actuator>{motors}</actuator></mujoco>"""
# Soft contacts, in which slip decays within 0.05 s but for friction: MuJoCo's defaults lift sliding
# wheels off concrete, and the robot hops and turns half as far as sliding wheels must, by
# 1 / (1 + (base / track)^2) of what they roll.
CONTACT = """<pair geom1="floor" geom2="g{i}" condim="3" friction="{mu} {mu} 0.005 0.0001 0.0001"
 solimp="0.15 0.15 0.001" solreffriction="-0.001 -20"/>"""


@dataclass(frozen=True)
class SkidSteer:
    """A random robot, in SI units; gains are those of one wheel."""

    mass: float
    track: float
    base: float
    radius: float
    proportional: float
    integral: float
    torque: float
    delay: float
    period: float
    noise: float
    limits: Velocity


def draw(seed: int) -> SkidSteer:
    """Return the robot of a seed."""
    rng = np.random.default_rng(seed)
    mass, track = rng.uniform(15.0, 60.0), rng.uniform(0.35, 0.6)
    base, radius = track * rng.uniform(0.6, 1.1), rng.uniform(0.08, 0.17)
    base = max(base, 2.1 * radius)
    scrub = 0.9 * mass * 9.81 / 4.0 * radius
    limits = Velocity(rng.uniform(0.4, 1.0), rng.uniform(1.0, 2.0))
    proportional = scrub / (rng.uniform(0.1, 0.4) * limits.omega * 0.5 * track / radius)
    return SkidSteer(
        mass,
        track,
        base,
        radius,
        proportional,
        integral=proportional / rng.uniform(0.1, 1.0),
        torque=scrub * rng.uniform(1.5, 3.0),
        delay=STEP * round(rng.uniform(0.0, 0.2) / STEP),
        period=STEP * round(1.0 / rng.uniform(15.0, 50.0) / STEP),
        noise=rng.uniform(0.002, 0.01),
        limits=limits,
    )


def model_of(robot: SkidSteer, friction: float, rolling: float) -> mujoco.MjModel:
    """Return the robot on a ground."""
    loss = rolling * robot.mass * 9.81 / 4.0 * robot.radius
    rotor = 0.1 * robot.mass / 4.0 * robot.radius**2
    wheels = (
        WHEEL.format(
            x=0.5 * x * robot.base,
            y=0.5 * y * robot.track,
            i=i,
            loss=loss,
            rotor=rotor,
            r=robot.radius,
            m=0.02 * robot.mass,
        )
        for i, (x, y) in enumerate(CORNERS)
    )
    text = ROBOT.format(
        step=STEP,
        contacts="".join(CONTACT.format(i=i, mu=friction) for i in range(4)),
        r=robot.radius,
        length=0.5 * robot.base + robot.radius,
        width=0.5 * robot.track,
        m=robot.mass,
        wheels="".join(wheels),
        motors="".join(
            MOTOR.format(i=i, gain=robot.proportional, most=robot.torque) for i in range(4)
        ),
    )
    return mujoco.MjModel.from_xml_string(text)


def record(robot: SkidSteer, ground: str, seed: int) -> tuple[Segment, float]:
    """Excite a robot; return what was recorded, and the farthest that it was from its start, m."""
    excite = VelocityExcitation((ROOM, ROOM), robot.limits, seed=seed)
    return driven(robot, ground, excite.command, seed)


def driven(
    robot: SkidSteer, ground: str, law: Law, seed: int, seconds: float = SECONDS,
    ice_from: float = math.inf,
) -> tuple[Segment, float]:  # fmt: skip
    """Drive a robot by a law, on ice from a time on, s; returns see `record`."""
    rng, model = np.random.default_rng(seed), model_of(robot, *GROUNDS[ground])
    data, sums = mujoco.MjData(model), np.zeros(4)
    late, every = round(robot.delay / STEP), round(robot.period / STEP)
    pending, sent = deque([(0.0, 0.0)] * (late + 1), maxlen=late + 1), Velocity(0.0, 0.0)
    sides, rows, farthest = np.array([-y for _, y in CORNERS]), [], 0.0
    for k in range(round(seconds / STEP)):
        if k == round(min(ice_from, seconds) / STEP):
            model.pair_friction[:, :2] = ICE[0]
            model.dof_frictionloss[6:] *= ICE[1] / GROUNDS[ground][1]
        if k % every == 0:
            pose, velocity = motion(data)
            noise = robot.noise * rng.standard_normal(2)
            read = Velocity(velocity.v + 0.3 * noise[0], velocity.omega + noise[1])
            sent = law(k * STEP, pose, read)
            rims = robot.radius * data.qvel[6:].reshape(2, 2).mean(axis=1)
            rims += 0.3 * robot.noise * rng.standard_normal(2)
            efforts = data.actuator_force.reshape(2, 2).sum(axis=1)
            efforts += EFFORT_NOISE * robot.torque * rng.standard_normal(2)
            rows.append((k * STEP, *read, *sent, *rims, *efforts))
            farthest = max(farthest, abs(pose.x), abs(pose.y))
        pending.append((sent.v, sent.omega))
        v, omega = pending[0]
        target = (v + 0.5 * sides * omega * robot.track) / robot.radius
        miss = target - data.qvel[6:]
        torque = robot.proportional * miss + sums
        # The integral part waits while the torque is at its limit.
        sums += (
            STEP * robot.integral * miss * ((np.abs(torque) < robot.torque) | (torque * miss < 0))
        )
        data.ctrl[:] = target + sums / robot.proportional
        mujoco.mj_step(model, data)
    times, *channels = np.array(rows).T
    return Segment(times, robot.period, dict(zip(CHANNELS, channels, strict=True))), farthest


def motion(data: mujoco.MjData) -> tuple[Pose, Velocity]:
    """Return pose and velocity of the body."""
    x, y, _, a, _, _, d = data.qpos[:7].tolist()
    heading = 2.0 * math.atan2(d, a)
    v = data.qvel[0] * math.cos(heading) + data.qvel[1] * math.sin(heading)
    return Pose(x, y, heading), Velocity(float(v), float(data.qvel[5]))


def r_squared(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> float:
    """Return 1 - SSE / SST."""
    return 1.0 - float(np.mean((predicted - measured) ** 2) / np.var(measured))


def main() -> None:
    """Print a line per robot and ground, and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--robots", type=int, default=4)
    parser.add_argument("--first", type=int, default=1, help="seed of the first robot")
    arguments = parser.parse_args()
    results: dict[str, list[tuple[float, ...]]] = {ground: [] for ground in GROUNDS}
    for seed in range(arguments.first, arguments.first + arguments.robots):
        robot = draw(seed)
        for ground, scores in results.items():
            drives = [record(robot, ground, seed + more) for more in (0, 5000)]
            (one, far), (other, farther) = drives
            first_order = analyse_axes([one])["w"].verdict
            data = ScrubbingData([one], robot.track)
            learnt = data.fit(STARTS, held_out=False)
            whole = data.fit([learnt], held_out=True)
            commands = other.pair(("command_v", "command_w"))
            predicted = whole.simulate(commands, robot.period, robot.track)[:, 1]
            scores.append(
                (
                    first_order.r_squared_held_out,
                    data.held_out(learnt).r_squared,
                    r_squared(predicted, other.channels["w"]),
                )
            )
            print(
                f"robot {seed}, {ground}: {first_order.outcome.value}, R^2 held out "
                f"{scores[-1][0]:.3f}, with friction {scores[-1][1]:.3f}, another drive "
                f"{scores[-1][2]:.3f}; {max(far, farther):.2f} m of {ROOM:g} m",
                flush=True,
            )
    for ground, scores in results.items():
        shares = np.mean(np.array(scores) >= 0.95, axis=0)
        print(
            f"{ground}: R^2 >= 0.95 of a first-order axis in {shares[0]:.0%}, with friction in "
            f"{shares[1]:.0%}, on another drive in {shares[2]:.0%} of {len(scores)}"
        )


if __name__ == "__main__":
    main()
