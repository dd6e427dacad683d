# SPDX-License-Identifier: Apache-2.0
"""Odometry with an impossible pose: two sources, and a jump."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from nav_msgs.msg import Odometry

from arc_odometry.odometry_checks import SETTLING
from diffbot_node import to_stamp
from diffbot_node.source_watch import RECENT
from diffbot_sim.faults.fault import Fault
from faults.robots import PERIOD
from faults.row import Outcome, Promise
from faults.rows.making import INSTANT, lasting, rows
from faults.rows.stopping import enable
from faults.scene import FAULT, VELOCITY_DRIVERS, Scene, Subject

GROUP = "Odometry"
PLACE = ("pose.pose.position.x",)
SECONDS = 0.3  # duration of the faults, s


def _two_nodes(apart: float):
    """A second node publishes a pose at a distance, m."""

    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine) as scene:
            scene.advance(FAULT + 0.5 * PERIOD)
            since, other = scene.bus.time, scene.bus.publisher(Odometry, subject.states)

            def driver(message: Odometry) -> tuple[Odometry]:
                reported = deepcopy(message)
                reported.header.stamp = to_stamp(
                    scene.bus.time - 0.1 * PERIOD
                )  # stamps must increase
                reported.pose.pose.position.x += apart
                other.publish(reported)
                return (message,)

            alone, scene.robot.driver = scene.robot.driver, driver
            scene.advance(since + 1.0)
            outcome = scene.zero(since, since + 1.0, "two sources tell", "/odom")
            other.destroy()
            scene.robot.driver = alone
            scene.advance(scene.bus.time + RECENT)  # sooner, it would be two sources again
            enable(scene, True)
            return _goes_on(scene, outcome, since)

    return run


def _goes_on(scene: Scene, outcome: Outcome, since: float) -> Outcome:
    """Expect the robot at its reference two seconds after the end of the fault."""
    scene.advance(scene.bus.time + SETTLING + 2.0)
    after = scene.on(since)
    return replace(
        after, time_to_zero=outcome.time_to_zero, problems=(*outcome.problems, *after.problems)
    )


def _takes_turns(subject: Subject, engine: str) -> Outcome:
    fault = Fault(subject.states, "wrong", FAULT, probability=0.5, fields=PLACE, offset=1.0)
    return lasting(subject, engine, 2.0, fault)


def _jumps(subject: Subject, engine: str) -> Outcome:
    """The pose jumps away and back; it was steady for too short a time to count."""
    fault = Fault(subject.states, "wrong", FAULT, SECONDS, fields=PLACE, offset=1.0)
    with Scene(subject, engine, faults=(fault,)) as scene:
        since, end = FAULT - INSTANT, FAULT + SECONDS + SETTLING - PERIOD
        scene.advance(end)
        return _goes_on(scene, scene.zero(since, end, "pose jumped by 1.0"), since)


ROWS = (
    *rows(GROUP, "a second node, 5 cm apart", Promise.ZERO, VELOCITY_DRIVERS, _two_nodes(0.05)),
    *rows(GROUP, "a second node, 1.6 m apart", Promise.ZERO, VELOCITY_DRIVERS, _two_nodes(-1.6)),
    *rows(GROUP, "two poses take turns at random", Promise.ZERO, VELOCITY_DRIVERS, _takes_turns),
    *rows(GROUP, "the pose jumps by 1 m and back", Promise.ZERO, VELOCITY_DRIVERS, _jumps),
)
