# SPDX-License-Identifier: Apache-2.0
"""Estimates that no controller may follow, and robots that do not move."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from diffbot_description import closed_form, load_robot
from diffbot_msgs.msg import DynamicParameters
from diffbot_node import to_stamp
from faults.robots import PERIOD, under_test
from faults.row import WIRING_TIME_TO_ZERO, Outcome, Promise
from faults.rows.making import rows
from faults.scene import BACKSTEP, FAULT, IDENT, LINEARIZING, POSE, Scene, Subject

NUMBERS = "NaN and inf in inputs"
NEGATIVE = "Estimate with negative mass"
NOTHING = "No excitation"
CONTROLLERS = (BACKSTEP, POSE, LINEARIZING)
TOPIC = "dynamic_parameters"
ARRAYS = {"covariance_diagonal": 4, "covariance": 16, "friction": 4, "friction_variance": 4}
MORE_ARRAYS = {"residual_std": 2, "coverage": 4, "residual_correlation": 2}
Change = Callable[[DynamicParameters], None]


def good() -> dict[str, float]:
    """Return K5..K8 of the robot under test."""
    return closed_form(load_robot(under_test()).model)._asdict()


def estimate(stamp: float, **fields: float) -> DynamicParameters:
    """Return an estimate that passes every gate, with some of its numbers replaced."""
    message = DynamicParameters(
        state=DynamicParameters.ESTIMATED,
        verification=DynamicParameters.VERIFIED,
        covariance_diagonal=[1e-8] * 4,
        coverage=[1.0] * 4,
        **{**good(), **fields},
    )
    message.header.stamp = to_stamp(stamp)
    return message


def _each_number() -> Iterator[Change]:
    """Yield estimates with NaN and infinity in each field."""
    for value in (math.nan, math.inf, -math.inf):
        for name in (*good(), "torque_delay", "control_period"):
            yield lambda message, name=name, value=value: setattr(message, name, value)
        for name, size in {**ARRAYS, **MORE_ARRAYS}.items():
            for index in range(size):
                yield lambda message, name=name, index=index, value=value: getattr(
                    message, name
                ).__setitem__(index, value)


def _negative() -> Iterator[Change]:
    """Yield estimates with negative or impossibly small mass, inertia, or both."""
    for fields in ({"k7": -2.6}, {"k8": 16.0}, {"k7": -2.6, "k8": 16.0}, {"k7": 0.0}, {"k8": 0.0}):
        yield lambda message, fields=fields: [setattr(message, k, v) for k, v in fields.items()]


def _offered(changes: Callable[[], Iterator[Change]], strict: bool):
    """Send estimates to a driving controller.

    Args:
        changes: Changes of a good estimate.
        strict: Whether K5..K8 must not change.
    """

    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine, parameters="adaptive") as scene:
            scene.advance(FAULT)
            before, count, result = scene.member.node.dynamics, 0, set()
            for change in changes():
                message = estimate(scene.bus.time)
                change(message)
                scene.bus.publish(TOPIC, message)
                # Estimates take effect 0.1 s later; more arrive in the meantime.
                scene.advance(scene.bus.time + 0.01)
                count += 1
                result |= _wrong(scene, before if strict else None)
            scene.advance(scene.bus.time + 0.3)
            result |= _wrong(scene, before if strict else None)
            outcome = scene.on(FAULT, f"{count} cases")
            return replace(outcome, problems=(*outcome.problems, *sorted(result)))

    return run


def _wrong(scene: Scene, before: object) -> set[str]:
    node = scene.member.node
    if node is None:
        return set()
    k = node.dynamics
    physical = k.k7 > 0.0 > k.k8 and all(map(math.isfinite, (k.k5, k.k6, k.k7, k.k8)))
    if not physical or (before is not None and k != before):
        return {f"the law uses {k}"}
    return set()


def _awaited(changes: Callable[[], Iterator[Change]]):
    """Send estimates to a controller that waits for the first one."""

    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine, parameters="topic") as scene:
            scene.advance(FAULT - 0.5)
            for change in changes():
                message = estimate(scene.bus.time)
                change(message)
                scene.bus.publish(TOPIC, message)
                scene.advance(scene.bus.time + 0.05)
            scene.advance(scene.bus.time + 0.3)
            return scene.refused("dynamic_parameters refused", status=None)

    return run


def _estimator() -> type:
    from diffbot_ident.estimator_node import EstimatorNode

    return EstimatorNode


def _at_rest(subject: Subject, engine: str) -> Outcome:
    """A robot at rest: the live estimator has no estimate, and its controller waits."""
    dynamic_parameters: list[DynamicParameters] = []
    with Scene(subject, engine, parameters="topic") as scene:
        scene.bus.subscribe(
            DynamicParameters, "ident/dynamic_parameters", dynamic_parameters.append
        )
        scene.bus.subscribe(
            DynamicParameters,
            "ident/dynamic_parameters",
            lambda message: scene.bus.publish(TOPIC, message),
        )
        scene.add(_estimator())
        scene.advance(FAULT + 1.0)
        return _unestimated(scene.refused(status=None), dynamic_parameters)


def _unestimated(outcome: Outcome, messages: list[DynamicParameters]) -> Outcome:
    problems = list(outcome.problems)
    if not messages:
        problems.append("no estimate was published")
    for message in messages:
        if message.state == DynamicParameters.ESTIMATED:
            problems.append(f"an estimate of a robot that does not move: k7 = {message.k7:g}")
            break
    if messages and not all(math.isinf(v) for v in messages[-1].covariance_diagonal):
        problems.append(f"intervals are finite: {list(messages[-1].covariance_diagonal)}")
    return replace(outcome, problems=tuple(problems), detail=f"{len(messages)} estimates")


def _dead_motors(subject: Subject, engine: str) -> Outcome:
    """Dead motors while ident excites: it stops, without a result.

    Wheels at rest under torque look like stuck encoders; friction may hold them for a while.
    """
    dynamic_parameters: list[DynamicParameters] = []
    with Scene(subject, engine) as scene:
        scene.bus.subscribe(
            DynamicParameters, "ident/dynamic_parameters", dynamic_parameters.append
        )
        scene.robot.motor = lambda torque: (0.0, 0.0)
        scene.advance(FAULT + 1.0)
        begun = next(at for at, *torque in scene.robot.history.entries if any(torque))
        outcome = scene.zero(begun + 2.0 * PERIOD, FAULT + 1.0)
        scene.bus.interrupt(scene.member)
        return _unestimated(outcome, dynamic_parameters)


ROWS = (
    *rows(
        NUMBERS,
        "DynamicParameters, each value, offered while driving",
        Promise.DRIVES_ON,
        CONTROLLERS,
        _offered(_each_number, strict=False),
    ),
    *rows(
        NEGATIVE, "offered while driving", Promise.DRIVES_ON, CONTROLLERS, _offered(_negative, True)
    ),
    *rows(NEGATIVE, "offered before the start", Promise.REFUSES, CONTROLLERS, _awaited(_negative)),
    *rows(
        NOTHING,
        "motors that do nothing",
        Promise.ZERO,
        (IDENT,),
        _dead_motors,
        longest=WIRING_TIME_TO_ZERO,
    ),
    *rows(NOTHING, "a robot at rest, live estimates", Promise.REFUSES, CONTROLLERS, _at_rest),
)
