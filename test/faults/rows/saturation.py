# SPDX-License-Identifier: Apache-2.0
"""Minutes in saturation: the reference cannot be reached, and then it can."""

from __future__ import annotations

from dataclasses import replace

from diffbot_controllers.laws.friction import holds
from diffbot_description import load_robot, wheel_friction
from faults.robots import under_test
from faults.row import Outcome, Promise
from faults.rows.making import rows
from faults.scene import BACKSTEP, LINEARIZING, Scene, Subject

GROUP = "Saturation"
MINUTES = 120.0  # s
# The weak torque is far too small for the reference: WEAK times the traction limit plus
# AGAINST_FRICTION times the friction at rest; no law drives with less.
WEAK, AGAINST_FRICTION = 0.04, 2.5
# Factor on the braking time: at so low a limit, turning due to encoder noise uses a part of the
# braking torque.
SHARED = 1.5
# Time to settle after braking with full torque to a resting reference, s.
SETTLING = {"linearizing_controller": 1.0, "backstep_controller": 8.0}


def weak_torque() -> float:
    """Return a torque that is too small for the robot under test, N m."""
    robot = load_robot(under_test())
    most = max(
        law.breakaway(direction) for law in wheel_friction(robot) for direction in (1.0, -1.0)
    )
    return WEAK * robot.limits.traction + AGAINST_FRICTION * most


def saturated(subject: Subject, engine: str, seconds: float = MINUTES) -> Outcome:
    """Request too fast a motion for some time, s, then a standstill.

    The recovery bound is the time to brake from the current speed with the available torque, times
    SHARED, plus SETTLING: a wound-up integral would need as long as it took to wind up.
    """
    weak = weak_torque()
    with Scene(subject, engine, speed=2.0, torque_limit=weak) as scene:
        begin, scene.robot.limit = scene.bus.time, weak
        scene.advance(begin + seconds)
        fraction = _fraction_at_limit(scene, begin)
        v, omega = scene.robot.simulator.velocity()
        scene.source.speed = 0.0
        k = scene.robot.simulator.parameters()
        # Torque that brakes v is not available for omega.
        braking = abs(v) / (2.0 * k.k7 * weak) + abs(omega) / (-2.0 * k.k8 * weak)
        bound = SHARED * braking + SETTLING[subject.name]
        scene.advance(begin + seconds + bound)
        outcome = scene.on(
            begin,
            f"{100.0 * fraction:.0f} % at the limit, recovery bound {bound:.2f} s",
            resting=holds(wheel_friction(load_robot(under_test()))),
        )
        v, omega = scene.robot.simulator.velocity()
        result = list(outcome.problems)
        if fraction < 0.5:
            result.append(f"at its limit for {100.0 * fraction:.0f} % of the time only")
        if not (abs(v) < 0.02 and abs(omega) < 0.1):
            result.append(f"after {bound:.2f} s still {v:.3f} m/s, {omega:.3f} rad/s")
        return replace(outcome, problems=tuple(result))


def _fraction_at_limit(scene: Scene, since: float) -> float:
    sizes = [max(abs(a), abs(b)) for at, a, b in scene.robot.history.entries if at >= since]
    return sum(size > 0.999 * scene.robot.limit for size in sizes) / max(len(sizes), 1)


ROWS = rows(GROUP, "two minutes, no windup", Promise.DRIVES_ON, (LINEARIZING, BACKSTEP), saturated)
