# SPDX-License-Identifier: Apache-2.0
"""Pictures of a calibration: every colour is explained, and nothing is written over the reason."""

from dataclasses import replace

import numpy as np
import pytest
from made_recordings.made_readings import (
    MadePoses,
    calibration_legs,
    simulated_drive,
)

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import calibrate
from diffbot_calibration.calibration_page import (
    evidence_groups,
    sizes_group,
    write_calibration_page,
)
from diffbot_calibration.results import write_results
from diffbot_report.chart import Chart, ChartGroup, Curve
from diffbot_report.figure_style import group_figure


@pytest.fixture(scope="module")
def calibration():
    """By a pose source, with a reason that is as long as any."""
    rng = np.random.default_rng(1)
    run = simulated_drive(WheelGeometry(0.1, 0.101, 0.42), calibration_legs(60.0), rng)
    poses = run.poses(MadePoses(), rng)
    result = calibrate(run.wheels, geometry=WheelGeometry(0.1, 0.1, 0.4), poses=poses)
    return replace(result, reason=10 * "a reason of many words ")


@pytest.mark.parametrize("picture", ["way", "drift"])
def test_the_legend_lies_below_the_reason_and_above_the_panels(calibration, picture):
    groups = [sizes_group(calibration), *evidence_groups(calibration)]
    (group,) = [group for group in groups if group.picture == picture]
    figure = group_figure(group, calibration.reason[:118])
    figure.canvas.draw()
    _, reason = figure.texts
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.y1 < reason.get_window_extent().y0
    for axes in figure.axes:
        assert box.y0 > axes.get_tightbbox().y1


def test_every_colour_of_the_drift_is_in_the_legend(calibration):
    *_, drift = evidence_groups(calibration)
    figure = group_figure(drift, calibration.reason)
    shown = {axes.lines[i].get_color() for axes in figure.axes for i in range(len(axes.lines))}
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["before", "after", "residual in x", "residual in y"]
    assert shown == {handle.get_color() for handle in legend.legend_handles}


def test_the_page_shows_the_charts_of_the_pictures(calibration, tmp_path):
    write_results(calibration, tmp_path, about={}, pictures=False)
    text = write_calibration_page(calibration, tmp_path, "calibrate").read_text(encoding="utf-8")
    groups = [sizes_group(calibration), *evidence_groups(calibration)]
    assert all(f'"{chart.key}"' in text for group in groups for chart in group.charts)
    (track,) = [chart for chart in groups[0].charts if chart.key == "size_track"]
    value = calibration.quantities["track"]
    assert track.values == pytest.approx([1e3 * value.value, 400.0])
    assert track.half_widths[0] == pytest.approx(1e3 * (value.upper - value.value))


@pytest.mark.parametrize("x", [[], [3.0], [np.nan, 2.0]])
def test_charts_with_hardly_any_points_are_drawn(x):
    group = ChartGroup("few", "Few", "", [Chart("few", "Few", "m", [Curve("few", x, x)])])
    (axes,) = group_figure(group, "").axes
    begin, end = axes.get_xlim()
    assert end - begin == 1.0
