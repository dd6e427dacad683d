# SPDX-License-Identifier: Apache-2.0
"""Creation of rows: one per node and fault."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from diffbot_sim.faults.fault import Fault
from faults.row import LONGEST_TIME_TO_ZERO, Outcome, Promise, Row
from faults.scene import FAULT, Scene, Subject

# Several cases in one row.


def worst_of(cases: Sequence[tuple[str, Outcome]]) -> Outcome:
    """Merge the outcomes of labelled cases: the worst of each number, and all problems."""
    outcomes = [outcome for _, outcome in cases]
    times = [outcome.time_to_zero for outcome in outcomes]
    never = [label for label, outcome in cases if outcome.time_to_zero is None]
    results = [f"{label}: {text}" for label, outcome in cases for text in outcome.problems]
    late, slowest = None, ""
    if len(never) < len(cases):
        if never:
            results += [f"{label}: the wheels never got zero" for label in never]
        late = max(time for time in times if time is not None)
        slowest = f", slowest: {cases[times.index(late)][0]}" if late > 0.0 else ""
    torques = [outcome.worst_torque for outcome in outcomes]
    worst = math.nan if any(map(math.isnan, torques)) else max(torques)
    details = [outcome.detail for outcome in outcomes if outcome.detail]
    detail = f"{len(cases)} cases{slowest}" + (f"; {details[-1]}" if details else "")
    first = outcomes[0]
    return Outcome(late, worst, first.limit, tuple(results), detail, first.unit)


PHYSICS = ("ideal", "mujoco")
EVERYWHERE = (*PHYSICS, "gazebo")
"""Engines of the key rows."""
NO_ENGINE = "none"
"""Engine of rows in which no wheel turns, or only those of a robot with velocity commands."""
# Messages arrive at whole periods; a fault begins this much before one, s.
BEFORE = 0.002
# Tolerance for rounding of a time, s.
INSTANT = 1e-6


def rows(
    group: str,
    name: str,
    promise: Promise,
    subjects: Iterable[Subject],
    run: Callable[[Subject, str], Outcome],
    engines: tuple[str, ...] = PHYSICS,
    longest: float = LONGEST_TIME_TO_ZERO,
) -> tuple[Row, ...]:
    """Make one row per subject; `run` gets the subject and the engine. See Row for the rest."""
    return tuple(
        Row(
            group,
            f"{name}: {subject.name}",
            promise,
            (NO_ENGINE,) if subject.takes_velocity else engines,
            functools.partial(run, subject),
            longest,
        )
        for subject in subjects
    )


def lasting(
    subject: Subject, engine: str, seconds: float, *faults: Fault, start: float = FAULT, **settings
) -> Outcome:
    """Faults begin at `start` and stay; zero must come, and stay for `seconds`."""
    with Scene(subject, engine, faults=faults, **settings) as scene:
        scene.advance(start + seconds)
        return scene.zero(start - INSTANT, start + seconds)


def borne(
    subject: Subject, engine: str, seconds: float, after: float, *faults: Fault, **settings
) -> Outcome:
    """Faults that the node tolerates while driving.

    Args:
        subject: The driving node.
        engine: Name of the engine.
        seconds: Time from FAULT to the end of the faults, s.
        after: Settling time after that, s.
        faults: Faults that begin at FAULT and last `seconds`.
        settings: Settings of the scene.
    """
    with Scene(subject, engine, faults=faults, **settings) as scene:
        worst = 0.0
        steps = max(round(seconds / 0.1), 1)
        for step in range(1, steps + 1):
            scene.advance(FAULT + seconds * step / steps)
            worst = max(worst, scene.error())
        scene.advance(FAULT + seconds + after)
        outcome = scene.on(FAULT - BEFORE, f"largest {worst:.3f}" if scene.source else "")
        bound = subject.bounds[0]
        if worst <= bound:
            return outcome
        result = (*outcome.problems, f"error {worst:.3f} during the fault, bound {bound:g}")
        return replace(outcome, problems=result)


def one_by_one(
    subject: Subject,
    engine: str,
    topic: str,
    attacks: Iterable[tuple[str, dict]],
    period: float = 0.06,
    late: float = 0.0,
    **settings,
) -> Outcome:
    """Single faulty messages; the node must answer each with zero and continue after it.

    Args:
        subject: The driving node.
        engine: Name of the engine.
        topic: Topic of the messages.
        attacks: (label, settings of the Fault).
        period: Time between two faults, s.
        late: Time by which the messages of the topic follow the joint states, s.
        settings: Settings of the scene.
    """
    attacks = tuple(attacks)
    starts = [FAULT + late + period * k for k in range(len(attacks))]
    faults = [
        Fault(topic, start=start - BEFORE, duration=2.0 * BEFORE, **attack)
        for start, (_, attack) in zip(starts, attacks, strict=True)
    ]
    with Scene(subject, engine, faults=faults, **settings) as scene:
        cases = []
        for start, (label, _) in zip(starts, attacks, strict=True):
            scene.advance(start + 0.5 * period)
            since = start - INSTANT
            # The next good message is due one control period later.
            cases.append((label, scene.zero(since, since + 0.01)))
        scene.advance(starts[-1] + 0.5)
        return worst_of([*cases, afterwards(scene)])


def afterwards(scene: Scene) -> tuple[str, Outcome]:
    """Return a case for `worst_of`: after all faults the node drives correctly."""
    outcome = scene.on(FAULT)
    return "afterwards", replace(outcome, time_to_zero=0.0)
