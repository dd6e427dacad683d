"""The pictures: they exist, and show what they promise."""

import time

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from diffbot_bringup.report import IdentRecording, StatusSample, parameter_quantities
from diffbot_bringup.report.drawing import Drawing
from diffbot_bringup.report.example import PAYLOAD, TRUE, example_recording
from diffbot_bringup.report.figures import (
    covariance_figure,
    excitation_figure,
    parameters_figure,
    save_figure,
)
from diffbot_bringup.report.limits import estimate_limits

PNG = b"\x89PNG\r\n\x1a\n"


def draw(recording):
    parameters = parameter_quantities(recording.latest, recording.last_truth())
    return parameters, (
        parameters_figure(recording, parameters, "twil"),
        covariance_figure(recording, parameters, "twil"),
        excitation_figure(recording, "twil"),
    )


def texts(axes):
    return " ".join(text.get_text() for text in axes.texts)


def lines(axes, label):
    return [line for line in axes.lines if line.get_label() == label]


def test_estimate_band_and_truth_are_shown():
    recording = example_recording(duration=20.0)
    _, (figure, _, _) = draw(recording)
    assert len(figure.axes) == 4
    times, values, _ = recording.parameters()
    for i, axes in enumerate(figure.axes):
        (estimate,) = lines(axes, "estimate")
        assert np.array_equal(estimate.get_ydata(), values[:, i])
        assert np.array_equal(estimate.get_xdata(), times)
        assert any(isinstance(artist, PolyCollection) for artist in axes.collections)
        (truth,) = lines(axes, "true value (closed form)")
        assert set(truth.get_ydata()) == {TRUE[i]}
        low, high = axes.get_ylim()
        assert low < TRUE[i] < high
        assert f"K{i + 5}" in texts(axes)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(legend) == ["estimate", "true value (closed form)", "± 2σ"]


def test_transient_does_not_squash():
    """The estimate starts at 0, far outside; the picture shows the settled band only."""
    _, (figure, _, _) = draw(example_recording(duration=20.0))
    for axes, true in zip(figure.axes, TRUE, strict=True):
        low, high = axes.get_ylim()
        # The spread after 15 % of 20 s: 2 sigma = 0.2 |K| / sqrt(31) = 3.6 %, noise up to 4 sigma.
        assert high - low < 0.3 * abs(true)


def test_payload_step_is_inside_the_picture():
    _, (figure, _, _) = draw(example_recording(duration=20.0, payload_at=12.0))
    for i, axes in enumerate(figure.axes):
        (truth,) = lines(axes, "true value (closed form)")
        assert set(truth.get_ydata()) == {TRUE[i], PAYLOAD[i]}
        assert truth.get_drawstyle() == "steps-post"
        assert 12.0 in np.round(truth.get_xdata(), 6)
        low, high = axes.get_ylim()
        assert low < min(TRUE[i], PAYLOAD[i]) and max(TRUE[i], PAYLOAD[i]) < high


def test_truth_unknown():
    _, (figure, _, _) = draw(example_recording(truth=False))
    assert not any(lines(axes, "true value (closed form)") for axes in figure.axes)
    assert all(lines(axes, "estimate") for axes in figure.axes)


def test_unidentifiable_parameters_are_named_not_drawn():
    _, (parameters, covariance, _) = draw(example_recording(unknown=(0, 1)))
    for figure in (parameters, covariance):
        for axes in figure.axes[:2]:
            assert "not identifiable" in texts(axes)
            assert not lines(axes, "estimate")
        assert not any("not identifiable" in texts(axes) for axes in figure.axes[2:])


def test_covariance_is_logarithmic():
    recording = example_recording(duration=20.0)
    _, (_, figure, _) = draw(recording)
    variances = recording.parameters()[2]
    for i, axes in enumerate(figure.axes):
        assert axes.get_yscale() == "log"
        assert np.array_equal(axes.lines[0].get_ydata(), variances[:, i])
        low, high = axes.get_ylim()
        assert low < variances[-1, i] < high


def test_excitation_shows_torques_and_velocity():
    recording = example_recording(duration=40.0)
    _, (_, _, figure) = draw(recording)
    _, motion = recording.motion()
    whole, opening = figure.axes[0::2], figure.axes[1::2]
    for axes, column in zip(whole, (2, 3, 0, 1), strict=True):
        assert np.array_equal(axes.lines[0].get_ydata(), motion[:, column])
    assert whole[0].lines[0].get_drawstyle() == "steps-pre"
    assert all(axes.get_xlim()[1] == pytest.approx(10.0) for axes in opening)


def one_status():
    recording = IdentRecording()
    recording.add_status(StatusSample(1.0, "exciting", duration=10.0))
    return recording


@pytest.mark.parametrize(
    "recording",
    [
        example_recording(duration=20.0),
        example_recording(unknown=(0, 1, 2, 3), truth=False),
        example_recording(duration=0.0),
        one_status(),
        IdentRecording(),
    ],
    ids=["usual", "nothing fixed", "one sample", "one status", "empty"],
)
def test_png_files(tmp_path, recording):
    _, figures = draw(recording)
    for i, figure in enumerate(figures):
        path = save_figure(figure, tmp_path / f"{i}.png")
        data = path.read_bytes()
        assert data.startswith(PNG)
        assert 5_000 < len(data) < 400_000
        width, height = np.frombuffer(data[16:24], dtype=">u4")
        assert 900 <= width <= 1100 and 600 <= height <= 900


def test_background_drawing(tmp_path):
    drawing = Drawing()
    drawing.start()
    recording = example_recording(duration=5.0)
    parameters = parameter_quantities(recording.latest)
    paths = list(drawing.draw(recording, parameters, "twil", tmp_path, time.monotonic() + 30.0))
    assert [path.name for path in paths] == ["parameters.png", "covariance.png", "excitation.png"]
    assert drawing.problem == ""
    assert paths[0].stat().st_size > 20_000


def test_no_picture_after_the_deadline(tmp_path):
    drawing = Drawing()
    drawing.start()
    recording = example_recording(duration=1.0)
    parameters = parameter_quantities(recording.latest)
    assert list(drawing.draw(recording, parameters, "twil", tmp_path, time.monotonic() - 1.0)) == []
    assert drawing.problem


def test_limits_of_a_noise_free_estimate_are_not_absurdly_narrow():
    times = np.linspace(0.0, 10.0, 100)
    values = np.full(100, 2.0) + 1e-12 * np.sin(times)
    low, high = estimate_limits(times, values, np.zeros(100), np.array([2.0]))
    assert low < 2.0 < high
    assert high - low == pytest.approx(0.01, rel=0.01)
    assert estimate_limits(times[:0], values[:0], values[:0], values[:0]) is None
