# SPDX-License-Identifier: Apache-2.0
"""Tables whose wheel positions are in degrees or encoder ticks: converted, or refused by name."""

import math
from functools import partial

import numpy as np
import pytest
from identify_command import identify
from made_recordings.excited_runs import usual_run
from made_recordings.random_runs import record_random

from diffbot_recordings.options import parse
from diffbot_recordings.recording_analysis import open_recording
from diffbot_recordings.samples import POSITIONS
from diffbot_study.random_robots import draw

ROBOT = ("--robot", "twil")
WHEELS = ("--wheel-radius", 0.075, "--track", 0.27217)
COUNTS = 4096  # per revolution
DEGREE = math.pi / 180.0


@pytest.fixture(scope="module")
def run():
    return usual_run()


def write_table(path, samples, left, right, unit, wrapped=False):
    """A table with the positions in a unit (rad), in columns of these names."""
    angles = np.unwrap([s.position for s in samples], axis=0)
    if wrapped:
        angles = np.remainder(angles + math.pi, math.tau) - math.pi
    lines = [
        ",".join(f"{value:.9g}" for value in (s.stamp, *position, *s.effort))
        for s, position in zip(samples, angles / unit, strict=True)
    ]
    path.write_text("\n".join((f"time,{left},{right},left_effort,right_effort", *lines)))
    return path


@pytest.fixture
def table(run, tmp_path):
    """Writes the run's table."""
    return partial(write_table, tmp_path / "log.csv", run.samples)


def assert_in_rad(run, path, *words):
    """The positions that are read are those of the run; what follows knows no units."""
    batches = list(open_recording(parse([str(path), *ROBOT, *words])).batches())
    read = np.column_stack(
        [np.concatenate([batch.channels[name] for batch in batches]) for name in POSITIONS]
    )
    angles = np.unwrap([s.position for s in run.samples], axis=0)
    np.testing.assert_allclose(read, angles, rtol=1e-7, atol=1e-7)


def identifies(run, tmp_path, path, *words):
    status, summary = identify(tmp_path, path, *ROBOT, *words)
    assert status == 0
    assert summary["parameters"]["K7"]["value"] == pytest.approx(run.truth[2], rel=0.01)


@pytest.mark.parametrize("name", ["{}_position_deg", "{}_position [degrees]", "{}_angle (degree)"])
def test_degrees_in_a_name_are_converted(run, table, name):
    assert_in_rad(run, table(name.format("left"), name.format("right"), DEGREE))


def test_degrees_are_identified_from(run, table, tmp_path):
    identifies(run, tmp_path, table("left_position_deg", "right_position_deg", DEGREE))


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ("left_position_ticks", "right_position_ticks", ()),
        ("left_position [counts]", "right_position [counts]", ()),
        ("enc_ticks_left", "enc_ticks_right", ("left_position=enc_ticks_left,"
         "right_position=enc_ticks_right,left_effort=left_effort,right_effort=right_effort",)),
    ],
)  # fmt: skip
def test_ticks_in_a_name_are_refused_until_their_factor_is_given(
    run, table, tmp_path, capsys, left, right, words
):
    path = table(left, right, math.tau / COUNTS)
    columns = ("--columns", *words) if words else ()
    status, _ = identify(tmp_path, path, *ROBOT, *columns)
    said = capsys.readouterr().err
    assert status == 2
    assert left in said and "2 pi / ticks of one turn of the wheel" in said
    factor = math.tau / COUNTS
    chosen = f"left_position={left}*{factor},right_position={right}*{factor}"
    chosen += ",left_effort=left_effort,right_effort=right_effort"
    assert_in_rad(run, path, "--columns", chosen)
    if words:
        identifies(run, tmp_path, path, "--columns", chosen)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("unit", [DEGREE, math.tau / COUNTS], ids=["degrees", "ticks"])
def test_positions_that_cannot_be_in_rad_are_asked_about(table, tmp_path, capsys, unit, wrapped):
    path = table("left_position", "right_position", unit, wrapped)
    status, _ = identify(tmp_path, path, *ROBOT)
    said = capsys.readouterr().err
    assert status == 2
    assert "positions seem to be in degrees or encoder ticks" in said
    assert "left_position=left_position*0.0174533,right_position=right_position*0.0174533" in said


@pytest.fixture(scope="module")
def slow_drive(tmp_path_factory):
    """File of a robot, and samples of a drive: for most of the time at a twentieth of its speed."""
    slow = draw(77500).written(tmp_path_factory.mktemp("slow"))
    return slow.robot.path, record_random(slow, 20.0).samples


def test_degrees_of_a_slow_drive_are_asked_about(slow_drive, tmp_path, capsys):
    file, samples = slow_drive
    robot = ("--robot", file)
    names = "left_position", "right_position"
    path = write_table(tmp_path / "slow.csv", samples, *names, DEGREE, True)
    assert identify(tmp_path, path, *robot)[0] == 2
    assert "positions seem to be in degrees or encoder ticks" in capsys.readouterr().err
    path = write_table(tmp_path / "rad.csv", samples, *names, 1.0, True)
    assert identify(tmp_path, path, *robot)[0] == 0


def test_ticks_are_told_without_a_robots_file(table, tmp_path, capsys):
    path = table("left_position", "right_position", math.tau / COUNTS)
    assert identify(tmp_path, path, *WHEELS)[0] == 2
    assert "degrees or encoder ticks" in capsys.readouterr().err


@pytest.mark.parametrize("wrapped", [False, True])
def test_positions_in_rad_are_taken(table, tmp_path, wrapped):
    assert (
        identify(tmp_path, table("left_position", "right_position", 1.0, wrapped), *ROBOT)[0] == 0
    )
