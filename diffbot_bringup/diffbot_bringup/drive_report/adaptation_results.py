"""What adaptation did for the tracking, and how summary.json says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from diffbot_bringup.drive_report.adaptation_recording import AdaptationRun
from diffbot_bringup.drive_report.controller_topics import TORQUE
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.last_lap import LAP, Window
from diffbot_bringup.drive_report.tracking_metrics import Errors, errors_within

# Robot time that a change of the robot may disturb its tracking for, s.
RECOVERY = 12.0
STATES = ("waiting", "following", "frozen")
NAMES = TORQUE.parameters


@dataclass(frozen=True)
class Change:
    """Tracking around a change of the true parameters, such as a payload.

    Attributes:
        time: of the change, s since driving began.
        before: errors over a lap that ends there (less at the start of a run); None where unknown.
        after: errors over as long, from RECOVERY after it on.
    """

    time: float
    before: Errors | None
    after: Errors | None

    @property
    def ratio(self) -> float | None:
        """Rms of the position after over that before."""
        if self.before is None or self.after is None or not self.before.rms_position:
            return None
        return self.after.rms_position / self.before.rms_position


def changes_of(run: DriveRun, adaptation: AdaptationRun, lap: Window | None) -> list[Change]:
    """Tracking around each change; `lap` is the window that the run is judged by."""
    errors = run.true_errors or run.odometry_errors
    if errors is None or not len(run):
        return []
    found = []
    for time in adaptation.changes:
        length = min(time, float(run.time[-1]) - time - RECOVERY)
        if lap is not None and lap.kind == LAP:
            length = min(length, lap.end - lap.begin)
        if length <= 0.0:
            found.append(Change(time, None, None))
            continue
        windows = (
            Window(LAP, time - length, time),
            Window(LAP, time + RECOVERY, time + RECOVERY + length),
        )
        parts = (
            errors_within(errors, window)
            if run.is_whole(window.begin, window.end, true=True)
            else None
            for window in windows
        )
        found.append(Change(time, *parts))
    return found


def adaptation_keys(
    adaptation: AdaptationRun, changes: list[Change], names: Sequence[str] = NAMES
) -> dict[str, Any] | None:
    """The key `adaptation` of summary.json; None where nothing was judged and nothing changed.

    Parameters in use, offered and true, by their names, are those at the end; `refused_by` counts
    the judgements in which each gate was shut (`precise`, `excited` and `band` may be of single
    parameters). What rests on judgements that did not come is None.
    """
    if not len(adaptation) and not changes:
        return None
    keys: dict[str, Any] = {
        "judged": None if adaptation.lost else len(adaptation),
        "changes": [{**asdict(change), "ratio": change.ratio} for change in changes],
        "true": _named(adaptation.true[-1], names) if len(adaptation.true) else None,
    }
    if len(adaptation):
        shut = np.sum(~adaptation.passed, axis=0).tolist()
        refused_by = dict(zip(adaptation.gates, shut, strict=True))
        last = {
            "state": STATES[int(adaptation.state[-1])],
            "refused": int(adaptation.refused[-1]),
            "in_use": _named(adaptation.in_use[-1], names),
            "offered": _named(adaptation.offered[-1], names),
            "offered_std": _named(adaptation.deviation[-1], names),
        }
        keys |= last if adaptation.has_last else dict.fromkeys(last)
        keys["refused_by"] = None if adaptation.lost else refused_by
    return keys


def _named(values: np.ndarray, names: Sequence[str]) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
