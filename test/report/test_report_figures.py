# SPDX-License-Identifier: Apache-2.0
"""The pictures: they exist, and show what they promise."""

import errno
import math
import os
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from ident_example import (
    ARENA,
    PAYLOAD,
    REASON,
    TRUE,
    VERIFICATION,
    example_recording,
    make_estimate,
    stamp_of,
)
from matplotlib.collections import PolyCollection

from diffbot_bringup.xml_launch.guard import GRACE
from diffbot_ident.verification import VerificationState
from diffbot_report.chart import Chart, ChartGroup, Curve
from diffbot_report.drawing import Drawing
from diffbot_report.figure_style import group_figure
from diffbot_report.ident_figures import (
    arena_group,
    covariance_group,
    excitation_figure,
    ident_pictures,
    margin,
    parameters_group,
    trust_group,
    verification_group,
)
from diffbot_report.ident_recording import IdentRecording, estimate_limits
from diffbot_report.panels import save_figure
from diffbot_report.quantity import parameter_quantities
from diffbot_report.run_end import IdentState, RunPhase

PNG = b"\x89PNG\r\n\x1a\n"


def draw(recording, kind):
    """One picture: each costs as much as all else in a test."""
    if kind == "excitation":
        return excitation_figure(recording, "twil")
    parameters = parameter_quantities(recording.estimate, recording.true_parameters.last)
    make = {"parameters": parameters_group, "covariance": covariance_group}[kind]
    return group_figure(make(recording, parameters, "twil"), "", row=2.2)


def texts(axes):
    return " ".join(text.get_text() for text in axes.texts)


def lines(axes, label):
    return [line for line in axes.lines if line.get_label() == label]


def test_estimate_band_and_truth_are_shown():
    recording = example_recording(duration=20.0)
    figure = draw(recording, "parameters")
    assert len(figure.axes) == 4
    times, values, _ = recording.parameters()
    for i, axes in enumerate(figure.axes):
        (estimate,) = lines(axes, "estimate")
        assert np.array_equal(estimate.get_ydata(), values[:, i])
        assert np.array_equal(estimate.get_xdata(), times)
        assert any(isinstance(artist, PolyCollection) for artist in axes.collections)
        (truth,) = lines(axes, "true")
        assert set(truth.get_ydata()) == {TRUE[i]}
        low, high = axes.get_ylim()
        assert low < TRUE[i] < high
        assert f"K{i + 5}" in texts(axes)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(legend) == ["95 %", "estimate", "true"]


def test_transient_does_not_squash():
    """The estimate starts at 0, far outside; the picture shows the settled band only."""
    figure = draw(example_recording(duration=20.0), "parameters")
    for axes, true in zip(figure.axes, TRUE, strict=True):
        low, high = axes.get_ylim()
        # The spread after 15 % of 20 s: 2 sigma = 0.2 |K| / sqrt(31) = 3.6 %, noise up to 4 sigma.
        assert high - low < 0.3 * abs(true)


def test_payload_step_is_inside_the_picture():
    figure = draw(example_recording(duration=20.0, payload_at=12.0), "parameters")
    for i, axes in enumerate(figure.axes):
        (truth,) = lines(axes, "true")
        assert set(truth.get_ydata()) == {TRUE[i], PAYLOAD[i]}
        assert truth.get_drawstyle() == "steps-post"
        assert 12.0 in np.round(truth.get_xdata(), 6)
        low, high = axes.get_ylim()
        assert low < min(TRUE[i], PAYLOAD[i]) and max(TRUE[i], PAYLOAD[i]) < high


def test_truth_unknown():
    figure = draw(example_recording(truth=False), "parameters")
    assert not any(lines(axes, "true") for axes in figure.axes)
    assert all(lines(axes, "estimate") for axes in figure.axes)


def test_unidentifiable_parameters_are_named_not_drawn():
    recording = example_recording(unknown=(0, 1))
    for figure in (draw(recording, "parameters"), draw(recording, "covariance")):
        for axes in figure.axes[:2]:
            assert f"not identifiable: {REASON}" in texts(axes).replace("\n", " ")
            assert not lines(axes, "estimate")
        assert not any("not identifiable" in texts(axes) for axes in figure.axes[2:])


def test_covariance_is_logarithmic():
    recording = example_recording(duration=20.0)
    figure = draw(recording, "covariance")
    variances = recording.parameters()[2]
    for i, axes in enumerate(figure.axes):
        assert axes.get_yscale() == "log"
        assert np.array_equal(axes.lines[0].get_ydata(), variances[:, i])
        low, high = axes.get_ylim()
        assert low < variances[-1, i] < high


def test_excitation_shows_torques_and_velocity():
    recording = example_recording(duration=40.0)
    figure = draw(recording, "excitation")
    _, motion = recording.motion()
    whole, warm_up = figure.axes[0::2], figure.axes[1::2]
    for axes, column in zip(whole, (2, 3, 0, 1), strict=True):
        # A torque acted during the period that ends at its stamp.
        assert np.array_equal(axes.lines[0].get_ydata(), motion[int(column >= 2) :, column])
    assert whole[0].lines[0].get_drawstyle() == "steps-post"
    assert all(axes.get_xlim()[1] == pytest.approx(10.0) for axes in warm_up)


def test_trust_shows_coverage_correlation_and_information():
    recording = example_recording(duration=20.0, unknown=(0, 1))
    coverage, correlation, information = trust_group(recording, "twil").charts
    assert coverage.values == pytest.approx([2000.0 / 90.0, 2000.0 / 90.0, 100.0, 100.0])
    assert ["not identified" in name for name in coverage.names] == [True, True, False, False]
    assert correlation.values == (0.04, -0.31)
    times, rows = recording.information()
    for curve, column in zip(information.curves, (0, 1), strict=True):
        assert np.array_equal(curve.y, rows[:, column])
        assert np.array_equal(curve.x, times)


def test_information_that_nobody_told_has_no_panel():
    recording = example_recording(duration=20.0)
    recording.information = lambda: (np.zeros(3), np.full((3, 2), math.nan))
    assert len(trust_group(recording, "twil").charts) == 2


def test_verification_compares_with_nominal_and_no_model():
    undescribed = replace(VERIFICATION, horizon_nominal=(math.nan, math.nan))
    charts = verification_group(undescribed, "twil").charts
    np.testing.assert_array_equal(
        [chart.values for chart in charts],
        [
            [0.0021, 0.0034, 0.0142],
            [0.0165, math.nan, 0.4312],
            [0.0113, 0.0162, 0.0871],
            [0.0742, math.nan, 2.2104],
        ],
    )
    assert charts[0].note == "identified 15 %, nominal 24 % of no model"
    assert charts[1].note == "identified 3.8 % of no model"
    worse = replace(VERIFICATION, state=VerificationState.REFUTED, reason="too bad")
    assert "refuted: too bad" in verification_group(worse, "twil").text


def test_arena_shows_the_path_to_scale():
    recording = example_recording(duration=20.0, verification=VERIFICATION)
    exciting, verifying = recording.path()
    assert len(exciting) > 400 and len(verifying) > 200
    group = arena_group(recording, ARENA, "twil")
    (axes,) = group_figure(group, group.text).axes
    for label, places in (("exciting", exciting), ("verifying", verifying)):
        (line,) = lines(axes, label)
        assert np.array_equal(np.transpose(line.get_data()), places)
    axes.apply_aspect()
    box = axes.get_window_extent()
    scale = [box.width / np.ptp(axes.get_xlim()), box.height / np.ptp(axes.get_ylim())]
    assert scale[0] == pytest.approx(scale[1])
    assert axes.get_xlim()[1] > 1.5 and axes.get_ylim()[1] > 1.0
    assert "stayed 200 mm inside" in group.text


def test_margin_of_the_arena():
    assert margin(np.array([[0.0, 0.0], [-1.2, 0.5]]), (3.0, 2.0)) == pytest.approx(0.3)
    assert margin(np.array([[0.0, 1.3]]), (3.0, 2.0)) == pytest.approx(-0.3)
    assert margin(np.empty((0, 2)), (3.0, 2.0)) == 1.0


def one_status():
    recording = IdentRecording()
    recording.add_state(IdentState(stamp_of(1.0), RunPhase.EXCITING, duration=10.0))
    return recording


@pytest.mark.parametrize(
    "recording",
    [
        partial(example_recording, unknown=(0, 1, 2, 3), truth=False),
        partial(example_recording, duration=0.0),
        one_status,
        IdentRecording,
    ],
    ids=["nothing fixed", "one sample", "one status", "empty"],
)
def test_little_is_drawn_too(tmp_path, recording):
    for kind in ("parameters", "covariance", "excitation"):
        check_png(save_figure(draw(recording(), kind), tmp_path / f"{kind}.png"))


def check_png(path):
    data = path.read_bytes()
    assert data.startswith(PNG)
    assert 5_000 < len(data) < 400_000
    width, height = np.frombuffer(data[16:24], dtype=">u4")
    assert 900 <= width <= 1100 and 600 <= height <= 900


def drawn(recording, folder, deadline):
    drawing = Drawing("diffbot_report.ident_figures")
    drawing.start()
    parameters = parameter_quantities(recording.estimate)
    pictures = partial(ident_pictures, recording, parameters, "twil")
    return drawing, list(drawing.draw(pictures, folder, deadline))


def test_after_ctrl_c_there_is_time_for_every_picture(tmp_path, monkeypatch):
    """The clock counts the work of this process only, which a busy machine does not change."""
    hurried = pytest.importorskip("diffbot_report.watching_node").HURRIED_DRAWING_TIME
    assert hurried <= GRACE[0] - 1.0  # of the runner, until it sends SIGTERM
    drawing = Drawing("diffbot_report.ident_figures")
    drawing.start()
    assert drawing.ready(time.monotonic() + 60.0)
    monkeypatch.setattr("diffbot_report.drawing.time", SimpleNamespace(monotonic=time.process_time))
    recording = example_recording(duration=60.0, verification=VERIFICATION)
    pictures = partial(ident_pictures, recording, parameter_quantities(recording.estimate), "twil")
    deadline = time.process_time() + hurried
    paths = [*drawing.draw(pictures, tmp_path, deadline)]
    assert drawing.problem is None
    assert [path.stem for path in paths] == [
        "parameters", "covariance", "excitation", "trust", "verification", "arena",
    ]  # fmt: skip
    for path in paths[:3]:
        check_png(path)
    assert paths[0].stat().st_size > 20_000


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "cannot be loaded: Too many open files"),
        (ImportError("No module named 'matplotlib'"), "'matplotlib'; install matplotlib"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_a_reason_why_nothing_can_be_drawn_is_told(error, says, tmp_path, monkeypatch):
    monkeypatch.setattr("diffbot_report.panels.warm_up", Mock(side_effect=error))
    drawing, paths = drawn(example_recording(duration=1.0), tmp_path, time.monotonic() + 30.0)
    assert paths == [] and says in drawing.problem


def test_no_picture_of_trust_that_nobody_spoke_of():
    recording = one_status()
    recording.add_estimate(stamp_of(1.0), make_estimate())
    for shown, known in ((recording, False), (example_recording(duration=1.0), True)):
        parameters = parameter_quantities(shown.estimate)
        names = [picture.name for picture in ident_pictures(shown, parameters, "twil")]
        assert ("trust.png" in names) is known


def test_no_picture_after_the_deadline(tmp_path):
    drawing, paths = drawn(example_recording(duration=1.0), tmp_path, time.monotonic() - 1.0)
    assert paths == []
    assert drawing.problem


def test_limits_of_a_noise_free_estimate_are_not_absurdly_narrow():
    times = np.linspace(0.0, 10.0, 100)
    values = np.full(100, 2.0) + 1e-12 * np.sin(times)
    low, high = estimate_limits(times, values, np.zeros(100), np.array([2.0]))
    assert low < 2.0 < high
    assert high - low == pytest.approx(0.01, rel=0.01)
    assert estimate_limits(times[:0], values[:0], values[:0], values[:0]) is None


# Charts of pages as pictures.


def axes_of(chart):
    (axes,) = group_figure(ChartGroup("name", "title", "", [chart]), "").axes
    return axes


def test_a_path_that_turns_back_is_drawn_whole():
    """Its x is not increasing, as that of values over time is."""
    angle = np.linspace(0.0, 2.0 * math.pi, 50)
    curve = Curve("lap", np.cos(angle), np.sin(angle))
    (line,) = axes_of(Chart("lap", "lap", "y, m", [curve], "x, m", None, equal=True)).lines
    assert len(line.get_xdata()) == 50


def test_a_logarithmic_chart_is_logarithmic_in_a_picture_too():
    curve = Curve("error", np.arange(3.0), np.array([1e-5, 1e-3, 0.1]))
    chart = Chart("e", "error", "m", [curve], logarithmic=True, y_range=(1e-6, 1.0))
    axes = axes_of(chart)
    assert axes.get_yscale() == "log" and axes.get_ylim() == (1e-6, 1.0)
