# SPDX-License-Identifier: Apache-2.0
"""Pictures, animation, table and keys of runs that are simulated in this process."""

import io
import json
import time
from dataclasses import replace

import numpy as np
import pytest
from drive_example import backstepping_example, linearizing_example
from PIL import Image
from rich.console import Console

from diffbot_description import load_robot, save_robot
from diffbot_description.files import strict
from diffbot_report.animation import LAST_FRAME, LONGEST, RATE, film_of, signed, write_animation
from diffbot_report.drawing import Drawing
from diffbot_report.drive_figures import commands_figure, velocities_figure
from diffbot_report.drive_findings import drive_findings
from diffbot_report.drive_page import command_charts, velocity_charts
from diffbot_report.drive_results import (
    controller_keys,
    drive_keys,
    drive_results,
    live_table,
    results_table,
)
from diffbot_report.figure_style import COLOURS
from diffbot_report.summary import RunDescription

ABOUT = RunDescription("backstepping", "twil", "ideal", 1)
POSE_PICTURES = ["path", "pose", "velocities", "torques", "velocity_errors"]


@pytest.fixture(scope="module")
def parking():
    return backstepping_example((1.0, 0.0, 0.0), 4.0, torque_limit=5.0)


@pytest.fixture(scope="module")
def eight():
    return backstepping_example(
        None, 46.0, start=(0.0, -0.4, 0.0), name="figure_eight", period=20.0, laps=2
    )


@pytest.fixture(scope="module")
def steps():
    return linearizing_example()


def pictures_of(recording, animation=True):
    robot = load_robot("twil")
    return drive_findings(recording, ABOUT, "a_controller", {}, robot, animation).pictures


def started_drawing():
    drawing = Drawing("diffbot_report.drive_figures")
    drawing.start()
    return drawing


def drawn(recording, folder, **options):
    drawing = started_drawing()
    pictures = pictures_of(recording, **options)
    paths = list(drawing.draw(pictures, folder, time.monotonic() + 60.0))
    assert drawing.problem is None
    return [path.name for path in paths]


def text_of(renderable, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def results_of(recording):
    return drive_results(recording)


def check_png(path):
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert 900 <= image.width <= 1100 and 450 <= image.height <= 1000
        pixels = np.asarray(image.convert("RGB"))
    # Lines, letters and robots are a few per cent of the picture.
    inked = (pixels < 200).any(axis=2).mean()
    assert 0.01 < inked < 0.5
    assert path.stat().st_size < 300_000


def test_pictures_of_a_pose_run(parking, tmp_path):
    names = drawn(parking, tmp_path, animation=False)
    assert names == [f"{name}.png" for name in POSE_PICTURES]
    for name in names:
        check_png(tmp_path / name)


def test_pictures_of_a_velocity_run(steps, tmp_path):
    names = drawn(steps, tmp_path, animation=False)
    assert names == ["path.png", "velocities.png", "torques.png"]
    for name in names:
        check_png(tmp_path / name)


def test_pictures_show_the_charts_of_the_page(parking):
    results, robot = results_of(parking), load_robot("twil")
    for charts, figure in (
        (velocity_charts(results), velocities_figure(results, "twil")),
        (command_charts(results, robot), commands_figure(results, "twil", robot)),
    ):
        # The whole run left, the first seconds right.
        for chart, axes in zip(charts, figure.axes[::2], strict=True):
            assert [line.get_label() for line in axes.lines[: len(chart.curves)]] == [
                curve.name for curve in chart.curves
            ]
            for line, curve in zip(axes.lines, chart.curves, strict=False):
                np.testing.assert_array_equal(line.get_ydata(), curve.y)
                assert line.get_color() == COLOURS[curve.role]


def test_the_torque_that_gears_take_is_drawn(parking):
    robot = load_robot("twil")
    assert len(command_charts(results_of(parking), robot)[0].curves) == 1
    losses = (0.2, 0.1)
    geared = replace(robot, friction=replace(robot.friction, gear_loss=losses))
    for chart, loss in zip(command_charts(results_of(parking), geared), losses, strict=True):
        torque, taken = (curve.y for curve in chart.curves)
        turns = taken != 0.0
        assert turns.any()
        np.testing.assert_allclose(np.abs(taken[turns]), loss * np.abs(torque[turns]))


def test_friction_of_a_robot_at_rest_balances_the_torque(tmp_path):
    """The signs of the simulated micrometres per second would make the curve flicker."""
    robot = load_robot("twil")
    dry = replace(robot, friction=replace(robot.friction, coulomb=(0.1, 0.1)))
    file = str(save_robot(dry, tmp_path / "dry.yaml"))
    # A law that does not know the friction, so that the robot is stuck before its goal.
    results = results_of(backstepping_example((0.3, 0.0, 0.0), 4.0, "mujoco", file))
    rests = (np.abs(results.run.best_velocity) < 5e-5).all(axis=1)
    assert rests.sum() > 20
    for chart in command_charts(results, dry):
        torque, taken = (curve.y for curve in chart.curves)
        assert (np.abs(torque[rests]) > 0.0).any()
        assert np.abs(taken).max() >= 0.1
        np.testing.assert_array_equal(taken[rests], np.clip(torque[rests], -0.1, 0.1))


def test_pictures_without_truth(parking, tmp_path):
    recording = backstepping_example((0.3, 0.0, 0.0), 1.0)
    recording.truth.add(np.array([0]), np.zeros((1, 6)))  # starts anew: none of these stamps
    assert not recording.run().has_truth
    names = drawn(recording, tmp_path)
    assert "pose.png" in names and "drive.gif" in names


@pytest.mark.wall_time
def test_hurried_drawing_leaves_out_what_it_has_no_time_for(parking, tmp_path):
    drawing = started_drawing()
    drawing.ready(time.monotonic() + 30.0)
    begin = time.monotonic()
    list(drawing.draw(pictures_of(parking), tmp_path, begin + 0.25))
    assert time.monotonic() - begin < 1.5
    assert "drive.gif" in drawing.problem
    assert not (tmp_path / "drive.gif").exists()


# The animation.


def check_animation(path):
    with Image.open(path) as film:
        durations, first, change = [], None, 0.0
        for number in range(film.n_frames):
            film.seek(number)
            durations.append(film.info["duration"])
            pixels = np.asarray(film.convert("L"), float)
            first = pixels if first is None else first
            change = max(change, float((np.abs(pixels - first) > 40).mean()))
        size = film.size
    assert film.info["loop"] == 0
    assert size[0] == 640 and 370 <= size[1] <= 540
    # Pillow joins frames that are alike.
    assert all(duration % 50 == 0 for duration in durations)
    assert sum(durations) / 1000.0 <= LONGEST + LAST_FRAME + 0.1
    # The robot leaves its place: its hull alone is some per cent of the picture.
    assert change > 0.01
    assert path.stat().st_size < 3_000_000
    return (sum(durations) / 1000.0 - LAST_FRAME) * RATE + 1


@pytest.mark.wall_time
def test_animation(parking, tmp_path):
    begin = time.process_time()
    path = write_animation(
        tmp_path / "a.gif", parking.run(), load_robot("twil"), (5.0, 5.0), "twil"
    )
    assert time.process_time() - begin < 6.0  # 1.3 to 1.7 s on the machine it was made on
    frames = len(film_of(parking.run()).frames)
    assert check_animation(path) == pytest.approx(frames)


def test_film_of_parking_is_slow_and_leaves_the_rest_out(parking):
    film = film_of(parking.run())
    assert film.factor < 1.0
    assert parking.run().time[film.frames[-1]] < 3.0


def test_film_of_laps_is_fast(eight):
    film = film_of(eight.run())
    assert film.factor > 2.0
    assert len(film.frames) <= 20 * LONGEST
    assert (np.diff(film.frames) > 0).all()


# The numbers.


def test_eight_is_judged_over_its_last_lap(eight):
    metrics = results_of(eight).metrics
    assert metrics.window.kind == "last lap"
    assert 19.0 < metrics.window.end - metrics.window.begin < 22.0
    # The robot is on its path, and its encoders count 0.12 mm of path.
    assert 0.0 < metrics.odometry.rms_position < 5e-4
    assert metrics.true.rms_position < 2e-3


def test_keys(parking):
    results = results_of(parking)
    controller = controller_keys("backstep_controller", results, {"gamma": [1.0]})
    content = json.loads(json.dumps(strict(drive_keys(results, controller)), allow_nan=False))
    for side in ("true", "odometry"):
        assert content["tracking"][side].keys() == {
            "settling_time", "rms_position", "rms_heading", "max_position", "max_heading",
        }  # fmt: skip
    assert content["tracking"]["window"]["kind"] == "last second"
    assert content["odometry_drift"]["rms_position"] > 0.0
    assert 0.0 < content["peak_torque"] <= 5.0
    assert content["controller"]["parameters"]["K7"] == 2.6468
    assert content["controller"]["parameters"]["source"] == "robot"
    assert (content["controller"]["law"], content["controller"]["torque_limit"]) == ("standard", 5)


def test_steps_of_the_linearizing_loop(steps):
    """REFERENCE for ideal encoders: settled within 60 ms without overshoot."""
    result = results_of(steps).steps
    assert [(s.channel, s.begin, s.end) for s in result] == [
        ("v", 0.0, 0.3),
        ("omega", 0.0, 1.0),
        ("v", 0.3, pytest.approx(-0.2)),
    ]
    assert result[0].encoders.settling_time <= 0.06 and result[0].true.settling_time <= 0.06
    assert result[0].true.overshoot < 1.0


def test_tables(parking, steps):
    text = text_of(results_table(results_of(parking), "a title"))
    for part in ("a title", "true", "by odometry", "drift", "settled", "peak torque", "limit 5"):
        assert part in text
    text = text_of(results_table(results_of(steps)))
    assert "v 0 → 0.3 m/s" in text and "over %" in text
    assert "from reference mm" in text_of(live_table(parking))
    assert "never" in text_of(results_table(results_of(backstepping_example((1.0, 0, 0), 0.5))))
    for renderable in (results_table(results_of(parking), "t"), live_table(parking)):
        assert max(map(len, text_of(renderable, 80).splitlines())) <= 80


@pytest.mark.parametrize(
    ("value", "text"), [(-0.004, "+0.00"), (-0.0, "+0.00"), (-0.006, "−0.01"), (1.234, "+1.23")]
)
def test_nothing_is_shown_as_minus_zero(value, text):
    assert signed(value) == text
