# SPDX-License-Identifier: Apache-2.0
"""Wheels, encoders and motors that differ from the robot's description."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from diffbot_description import load_robot
from diffbot_sim.faults.fault import Fault
from faults.robots import PERIOD, Pair, under_test
from faults.row import WIRING_TIME_TO_ZERO, Outcome, Promise
from faults.rows.making import EVERYWHERE, INSTANT, borne, lasting, rows
from faults.scene import BACKSTEP, DRIVERS, FAULT, IDENT, Scene, Subject

GROUP = "Wheels"
BOTH = (IDENT, BACKSTEP)
NOTICEABLE = 0.01  # smallest noticeable change, as a share of the torque limit
LONG = WIRING_TIME_TO_ZERO + 0.1  # s
MOVING = 2.0  # rad/s; a wheel at this speed is in motion
LONGEST_WAIT = 5.0  # s, for a wheel in motion


def _stuck(side: int):
    fields = (f"position[{side}]", f"velocity[{side}]")

    def run(subject: Subject, engine: str) -> Outcome:
        start = _in_motion(subject, engine, side)
        fault = Fault("joint_states", "stuck", start, fields=fields)
        return lasting(subject, engine, 0.3, fault, start=start)

    return run


def _in_motion(subject: Subject, engine: str, side: int) -> float:
    """Return when the wheel first reaches MOVING after FAULT, s; the next run repeats this.

    If a wheel stands when its encoder sticks, nothing shows before a torque that must move it.
    """
    with Scene(subject, engine) as scene:
        scene.advance(FAULT)
        wheels = scene.robot.robot.geometry
        while scene.bus.time < FAULT + LONGEST_WAIT:
            turning = wheels.wheel_velocity(*scene.robot.simulator.velocity())[side]
            if abs(turning) >= MOVING:
                return scene.bus.time
            scene.advance(scene.bus.time + PERIOD)
    raise ValueError(f"wheel {side} does not reach {MOVING:g} rad/s in {LONGEST_WAIT:g} s")


def _motor(change):
    """The torque on the wheels differs from the commanded one from the fault on."""

    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine) as scene:
            scene.advance(FAULT + INSTANT)
            scene.robot.motor = change
            scene.advance(FAULT + LONG)
            return scene.zero(FAULT + INSTANT, FAULT + LONG)

    return run


def _wired(change):
    """A robot with wrong wiring; time counts from the first noticeably changed torque.

    Swapped wheels with equal torque are not observable.
    """

    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine) as scene:
            robot, begun = scene.robot, []

            def motor(torque: Pair) -> Pair:
                changed = change(torque)
                error = max(abs(a - b) for a, b in zip(torque, changed, strict=True))
                if not begun and error > NOTICEABLE * robot.limit:
                    begun.append(scene.bus.time)
                return changed

            robot.motor = motor
            while not begun and scene.bus.time < FAULT + 1.0:
                scene.advance(scene.bus.time + PERIOD)
            # The torque acts over the period that ends with this step.
            since = (begun or [scene.bus.time])[0] - PERIOD + INSTANT
            scene.advance(since + LONG)
            return scene.zero(since, since + LONG)

    return run


def flipped_left(torque: Pair) -> Pair:
    """Reverse the polarity of the left motor."""
    return -torque[0], torque[1]


def flipped(torque: Pair) -> Pair:
    """Reverse the polarity of both motors."""
    return -torque[0], -torque[1]


def swapped(torque: Pair) -> Pair:
    """Swap the plugs of the motors."""
    return torque[1], torque[0]


def _other(part: str, factor: float):
    """The simulated robot has other wheels than the nodes' model."""

    def run(subject: Subject, engine: str) -> Outcome:
        robot = load_robot(under_test())
        document = yaml.safe_load(Path(robot.path).read_text(encoding="utf-8"))
        document["wheels"][part] *= factor
        if part == "radius":
            # Keep the casters on the ground, and scale the wheels' inertia.
            document["wheels"]["inertia_spin"] *= factor**2
            document["wheels"]["inertia_yaw"] *= factor**2
        with TemporaryDirectory() as folder:
            path = Path(folder) / "other.yaml"
            path.write_text(yaml.safe_dump(document), encoding="utf-8")
            other = load_robot(path)
            bounds = (0.5, 0.3) if subject.references else subject.bounds
            wide = dataclasses.replace(subject, bounds=bounds)
            return borne(wide, engine, 0.8, 0.2, simulated=other)

    return run


def _angles(**settings):
    def run(subject: Subject, engine: str) -> Outcome:
        fault = Fault("joint_states", "wrong", fields=("position",), **settings)
        return borne(subject, engine, 0.8, 0.2, fault)

    return run


ENCODERS = "Encoders"
WIRING = (
    ("left torque flipped from the start", DRIVERS, _wired(flipped_left)),
    ("both torques flipped from the start", DRIVERS, _wired(flipped)),
    ("wheels swapped from the start", DRIVERS, _wired(swapped)),
    ("both torques flipped in mid-run", BOTH, _motor(flipped)),
)
ROWS = (
    *rows(GROUP, "left encoder stuck in motion", Promise.ZERO, DRIVERS, _stuck(0), EVERYWHERE),
    *rows(GROUP, "right encoder stuck in motion", Promise.ZERO, BOTH, _stuck(1)),
    *(
        row
        for name, subjects, run in WIRING
        for row in rows(GROUP, name, Promise.ZERO, subjects, run, longest=WIRING_TIME_TO_ZERO)
    ),
    *rows(GROUP, "radius 30 % larger", Promise.DRIVES_ON, DRIVERS, _other("radius", 1.3)),
    *rows(GROUP, "radius 30 % smaller", Promise.DRIVES_ON, DRIVERS, _other("radius", 0.7)),
    *rows(GROUP, "track 30 % wider", Promise.DRIVES_ON, DRIVERS, _other("separation", 1.3)),
    *rows(GROUP, "track 30 % narrower", Promise.DRIVES_ON, DRIVERS, _other("separation", 0.7)),
    *rows(
        ENCODERS,
        "angles wrap at a whole turn",
        Promise.DRIVES_ON,
        DRIVERS,
        _angles(offset=3.0, wrap=6.283185307179586),
    ),
    *rows(
        ENCODERS,
        "angles wrap as 16-bit counts",
        Promise.DRIVES_ON,
        BOTH,
        _angles(offset=50.0, wrap=65536 * 6.283185307179586 / 4096),
    ),
    *rows(ENCODERS, "angles of 1e8 rad", Promise.DRIVES_ON, BOTH, _angles(offset=1e8)),
    *rows(
        ENCODERS,
        "angles of 1e300 rad",
        Promise.ZERO,
        BOTH,
        lambda subject, engine: lasting(
            subject,
            engine,
            0.3,
            Fault("joint_states", "wrong", FAULT, fields=("position",), offset=1e300),
        ),
    ),
)
