"""Several cases in one row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from diffbot_bringup.faults.row import Outcome


def worst_of(cases: Sequence[tuple[str, Outcome]]) -> Outcome:
    """One outcome of several cases, each with a label: the worst of each number, all problems."""
    outcomes = [outcome for _, outcome in cases]
    times = [outcome.time_to_zero for outcome in outcomes]
    never = [label for label, outcome in cases if outcome.time_to_zero is None]
    found = [f"{label}: {text}" for label, outcome in cases for text in outcome.problems]
    late, slowest = None, ""
    if len(never) < len(cases):
        if never:
            found += [f"{label}: the wheels never got zero" for label in never]
        late = max(time for time in times if time is not None)
        slowest = f", slowest: {cases[times.index(late)][0]}" if late > 0.0 else ""
    torques = [outcome.worst_torque for outcome in outcomes]
    worst = math.nan if any(map(math.isnan, torques)) else max(torques)
    details = [outcome.detail for outcome in outcomes if outcome.detail]
    detail = f"{len(cases)} cases{slowest}" + (f"; {details[-1]}" if details else "")
    first = outcomes[0]
    return Outcome(late, worst, first.limit, tuple(found), detail, first.unit)
