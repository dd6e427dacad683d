# SPDX-License-Identifier: Apache-2.0
"""Effective track b_eff = r (w_r - w_l) / omega, from wheels and an independent yaw rate.

One for each recording; it must explain held-out parts: docs/theory/recordings.md#effective-track.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.estimate import NORMAL_95, GyroFit
from diffbot_ident.interpretation.yaw_gyro import GyroError, YawGyro
from diffbot_recordings.held_out_tests import LEAST_R_SQUARED
from diffbot_recordings.samples import WHEELS
from diffbot_recordings.segments import Segment
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Evidence, Value

# Window and delays of the yaw rate, s; negative, as slow wheel speeds are late themselves.
WINDOW, DELAYS = 0.5, (-0.5, 0.5)
# Length of a block, s; one in BATCHES is held out.
BATCH, BATCHES = 4.0, 3
NEEDED = (*WHEELS, "w")
# Differences of more standard deviations are named; of 24 pairs of equal tracks the largest was
# 2.2.
BEYOND_DOUBT = 4.0
SUBJECT = "effective track"


def effective_tracks(segments: Sequence[Segment], geometry: WheelGeometry) -> list[AnalysisVerdict]:
    """Return a verdict for each recording; its "w" (rad/s) must not come from the wheels."""
    runs: dict[str | None, list[Segment]] = {}
    for segment in segments:
        if {*NEEDED} <= {*segment.channels}:
            runs.setdefault(segment.run, []).append(segment)
    several = len(runs) > 1
    verdicts = [
        replace(verdict, subject=f"{SUBJECT}, {run}") if several else verdict
        for run, verdict in ((run, _verdict(own, geometry)) for run, own in runs.items())
    ]
    return _compared(verdicts)


def _compared(verdicts: list[AnalysisVerdict]) -> list[AnalysisVerdict]:
    known = [verdict for verdict in verdicts if verdict.usable]
    if len(known) < 2:
        return verdicts
    first, track = known[0], known[0].value(SUBJECT)
    where = first.subject.removeprefix(f"{SUBJECT}, ")
    results = []
    for verdict in verdicts:
        if verdict is first or not verdict.usable:
            results.append(verdict)
            continue
        own = verdict.value(SUBJECT)
        change = own.value / track.value - 1.0
        std = math.hypot(own.std, track.std) / track.value
        half = f"± {100.0 * NORMAL_95 * std:.2g} %"
        note = f"no other track than in {where}: {100.0 * change:+.2g} % {half}"
        if abs(change) > BEYOND_DOUBT * std:
            note = (
                f"the effective track differs from that in {where} by {100.0 * change:+.2g} % "
                f"{half}: another ground, load or tyre pressure, or turns of another size"
            )
        results.append(replace(verdict, notes=(*verdict.notes, note)))
    return results


def beside_commands(
    tracks: Sequence[AnalysisVerdict], yaw: AnalysisVerdict | None
) -> list[AnalysisVerdict]:
    """Note where the wheels explain turns that commands (verdict `yaw`) do not: it is no slip."""
    if yaw is None or yaw.outcome is not AnalysisOutcome.REFUSED:
        return list(tracks)
    note = (
        "the yaw axis is refused because the wheels do not follow their commands (friction of "
        "wheels that scrub, limits of the motors), not because they slip"
    )
    return [
        replace(track, notes=(*track.notes, note)) if track.usable else track for track in tracks
    ]


def _verdict(segments: Sequence[Segment], geometry: WheelGeometry) -> AnalysisVerdict:
    learnt, kept, every = (YawGyro(geometry, WINDOW, DELAYS) for _ in range(3))
    _feed(segments, learnt, kept, every)
    try:
        fit = learnt.fit()
        whole = every.fit()
    except GyroError as refused:
        return AnalysisVerdict(SUBJECT).refused(str(refused))
    if fit is None or whole is None:
        text = "the robot turns too little; drive curves of 0.3 rad/s or more, both ways"
        return AnalysisVerdict(SUBJECT).not_excited(text)
    fraction, error, windows = kept.explained_by(fit)
    good = fraction >= LEAST_R_SQUARED
    evidence = Evidence(
        f"share of the turns that the wheels explain on held-out parts ({windows} windows of "
        f"{WINDOW:g} s)",
        fraction,
        f">= {LEAST_R_SQUARED:g}",
        bool(good) if np.isfinite(fraction) else None,
    )
    verdict = AnalysisVerdict(
        SUBJECT,
        values=_values(whole, geometry),
        r_squared_fit=whole.agreement,
        r_squared_held_out=fraction,
        error_held_out=error,
        error_unit="rad",
        evidence=(evidence,),
    )
    if not np.isfinite(fraction):
        return verdict.not_excited("too little motion was held out; record for longer")
    return (
        verdict
        if good
        else verdict.refused(
            f"no one track explains the yaw rate: {fraction:.2f} of it on held-out parts (must be "
            f">= {LEAST_R_SQUARED:g}); the wheels slip by turns that are not in proportion"
        )
    )


def _values(fit: GyroFit, geometry: WheelGeometry) -> tuple[Value, ...]:
    track = geometry.separation / fit.scale
    return (
        Value("effective track", track, track * fit.scale_std / fit.scale, "m"),
        Value("effective track over track", 1.0 / fit.scale, fit.scale_std / fit.scale**2),
        Value("delay of the yaw rate after the wheels", fit.delay, fit.delay_std, "s"),
    )


def _feed(segments: Sequence[Segment], learnt: YawGyro, kept: YawGyro, every: YawGyro) -> None:
    """Feed wheels to all, yaw rates of held-out blocks to `kept`, others to `learnt`."""
    offset, angles, passed = 0.0, np.zeros(2), 0.0
    for segment in segments:
        # The clock may have been set back between segments.
        stamps = segment.times - segment.times[0] + offset
        offset = float(stamps[-1]) + 2.0 * (DELAYS[1] - DELAYS[0])
        speeds = np.column_stack([segment.channels[name] for name in WHEELS])
        steps = 0.5 * (speeds[1:] + speeds[:-1]) * np.diff(stamps)[:, None]
        turned = angles + np.concatenate((np.zeros((1, 2)), np.cumsum(steps, axis=0)))
        angles = turned[-1]
        for comparison in (learnt, kept, every):
            comparison.interrupt()
        for stamp, wheels, rate in zip(
            stamps.tolist(), turned.tolist(), segment.channels["w"].tolist(), strict=True
        ):
            sample = JointSample(stamp, (wheels[0], wheels[1]), (0.0, 0.0), (0.0, 0.0))
            for comparison in (learnt, kept, every):
                comparison.add_wheels(sample)
            batch = int((passed + stamp - stamps[0]) / BATCH) % BATCHES
            (kept if batch == BATCHES - 1 else learnt).add(stamp, rate)
            every.add(stamp, rate)
        passed += segment.duration
